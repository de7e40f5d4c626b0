"""The report of a roleplay: from transcripts and ratings to a page, one file per section."""
