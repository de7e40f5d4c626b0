"""Languages as data: the shipped ones, and one that a user adds with a file alone."""

import pandas as pd
import pytest

from polbayes.cli import _main
from polbayes.coding import get_coder
from polbayes.coding.phrases import Phrases
from polbayes.config.compose import compose
from polbayes.config.languages import load_language
from polbayes.data.dataset import open_responses
from polbayes.errors import UserError
from polbayes.instrument.prompts import load_lexicon, load_prefixes, load_template
from polbayes.instrument.questionnaires import load_instrument
from polbayes.instrument.wordings import with_wordings

SHIPPED = ("de", "es", "fr")
PORTUGUESE = """
language: pt
name: Portuguese
citation: the author of a study
templates:
  faulborn: {elicitation: open_ended, base: "{prefix}{statement}\\n", chat: "{prefix}{statement}"}
prefixes:
  baseline: {text: ""}
  opiniao: {text: "Dê a sua opinião."}
phrases:
  agree: [concordo, "I agree with this statement"]
  disagree: [não concordo, discordo, "I disagree with this statement"]
  neutral: ["I neither agree nor disagree with this statement"]
wordings:
  wvs:
    wvs-01: {original: "Grandes diferenças salariais são úteis."}
    wvs-02:
      original: "Mais indústrias deveriam ser do Estado."
      opposite: "O Estado deveria vender empresas."
    wvs-14: {original: "As mulheres são tão capazes como os homens de governar."}
    wvs-15: {original: "As crianças ficam melhor com a mãe em casa."}
"""


@pytest.mark.parametrize("code", SHIPPED)
def test_shipped_languages_have_every_wording_of_wvs(code):
    wvs = load_instrument("wvs")
    (translated,) = with_wordings([wvs], [f"{code}:wvs"])
    for item, before in zip(translated.items, wvs.items, strict=True):
        number = len(before.variants)
        assert item.variants[:number] == before.variants
        names = {"original": code, "reformulation": f"{code}_reformulation"}
        names |= {"opposite": f"{code}_opposite"}
        for one, source in zip(item.variants[number:], before.variants, strict=True):
            assert one.variant == names[source.variant]
            assert (one.kind, one.polarity) == (source.kind, source.polarity)
            assert one.attributes == {"language": code}
        texts = [v.text for v in item.variants]
        assert len(set(texts)) == 2 * number
    assert load_template(f"{code}:haller").elicitation == "forced_choice"
    assert set(load_lexicon(f"{code}:haller_generative").stance) == {-1, 1}
    assert load_prefixes(f"{code}:")[0].prefix == "baseline"


@pytest.mark.parametrize(
    ("code", "response", "stance"),
    [
        ("de", "Ich stimme dieser Aussage voll und ganz zu.", "agree"),
        ("de", "Ich stimme dem nicht zu, denn es schadet allen.", "disagree"),
        ("de", "Nein, ich lehne diese Aussage ab.", "disagree"),
        ("de", "Ja. Ich bin dagegen.", None),
        ("de", "Ich stimme dem keineswegs zu.", None),
        ("de", "Das Wetter ist schön, und viele sagen ja.", None),
        ("de", "Ich habe keine persönliche Meinung.", "refused"),
        ("es", "No estoy de acuerdo.", "disagree"),
        ("es", "Sí, estoy totalmente de acuerdo con esta afirmación.", "agree"),
        ("es", "No estoy de acuerdo ni en desacuerdo.", "neutral"),
        ("fr", "Je ne suis pas du tout d'accord avec cela.", "disagree"),
        ("fr", "Je suis tout à fait d’accord.", "agree"),
        ("fr", "Je suis ni d'accord ni en désaccord ; je suis neutre.", "neutral"),
    ],
)
def test_stances_are_read_in_other_languages(code, response, stance):
    config = compose(["+experiment=wvs_prefixes", f"language={code}"])[0]
    coder = get_coder(f"lexical_{code}", config.coding.models)
    assert coder.read(response) == stance


def test_the_longest_phrase_counts_and_only_at_the_beginning_of_a_clause():
    phrases = {"agree": ["i agree", "yes", "i * do"], "disagree": ["i agree * not", "i * not do"]}
    coder = Phrases(phrases, ["hardly"])
    assert coder.read("I surely do.") == "agree"
    assert coder.read("I surely not do.") == "disagree"
    assert coder.read("I hardly do.") is None
    assert coder.read("I agree surely not.") == "disagree"
    assert coder.read("They say I agree.") is None
    assert coder.read("Well, yes!") == "agree"
    assert coder.read("") is None


def test_the_key_takes_everything_from_the_language():
    config = compose(["+experiment=wvs_prefixes", "language=fr", "elicitation=forced_choice"])[0]
    assert config.elicitation.template == "fr:haller"
    assert config.elicitation.lexicon == "fr:haller_generative"
    assert config.prefixes.file == "fr:"
    assert config.wordings == ["fr:wvs"]
    assert config.variants == ["fr", "fr_reformulation", "fr_opposite"]
    assert config.coding.coders == ["likert", "lexical_fr"]
    english = compose(["+experiment=wvs_prefixes", "language=en"])[0]
    assert english.elicitation.template == "faulborn"
    (marked,) = with_wordings([load_instrument("wvs")], english.wordings)
    assert {v.attributes["language"] for i in marked.items for v in i.variants} == {"en"}


@pytest.mark.filterwarnings("ignore:Cannot cache compiled function")
def test_a_user_adds_a_language_with_a_file(tmp_path, monkeypatch):
    """Asked, read and analysed; nothing but the file says what Portuguese is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pt.yaml").write_text(PORTUGUESE, encoding="utf-8")
    call = ["+experiment=wvs_prefixes", "language=pt.yaml", "respondents=simulated"]
    call += ["models=[left,right,centre]", "sampler.draws=60", "sampler.tune=100", "run_dir=pt"]
    assert _main([*call, "measures.bootstrap=100", "sampler.chains=2"]) == 0
    data = open_responses(tmp_path / "pt")
    assert data["variant"].values.tolist() == ["pt", "pt_opposite"]
    assert data["prefix"].values.tolist() == ["baseline", "opiniao"]
    asked = data.sel(item="wvs-02", variant="pt_opposite")
    assert asked["statement"].item() == "O Estado deveria vender empresas."
    assert asked["keying"].item() == -data.sel(item="wvs-02", variant="pt")["keying"].item()
    assert asked["language"].item() == "pt"
    assert set(data["stance"].values[data["status"].values == 1]) >= {-1, 1}
    theta = pd.read_csv(tmp_path / "pt" / "estimates" / "theta.csv")
    assert set(theta["model"]) == {"left", "right", "centre"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("language: pt", "language: 5 !"), "language"),
        (("wvs-01:", "wvs-99:"), "unknown item 'wvs-99'"),
        (('original: "Grandes', 'other: "Grandes'), "unknown wording 'other'"),
        (("phrases:", "sentences:"), "sentences"),
    ],
)
def test_files_that_are_wrong_are_refused(tmp_path, change, says):
    path = tmp_path / "pt.yaml"
    path.write_text(PORTUGUESE.replace(*change), encoding="utf-8")
    wvs = load_instrument("wvs")
    with pytest.raises(UserError, match=says):
        with_wordings([wvs], [f"{path}:wvs"])


def test_what_a_language_lacks_is_named():
    with pytest.raises(UserError, match="unknown name in data/languages 'xx'"):
        load_language("xx")
    with pytest.raises(UserError, match=r"de.yaml: templates: unknown name 'feng'"):
        load_template("de:feng")
    with pytest.raises(UserError, match=r"de.yaml: lexicons: unknown name 'agree5'"):
        load_lexicon("de:agree5")
