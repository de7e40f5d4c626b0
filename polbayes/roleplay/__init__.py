"""Roleplay: scenarios played in stages by respondents and rated by judges."""
