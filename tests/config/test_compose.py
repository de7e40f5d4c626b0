import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from polbayes.config.compose import STAGE_OF_KEY, compose, differences, experiments
from polbayes.config.resources import folder
from polbayes.config.schema import STAGES, RunConfig
from polbayes.errors import UserError

WVS = "+experiment=wvs_prefixes"
EXPERIMENTS = [
    *("imported", "instruments", "pct_masked", "pct_paraphrases", "politicsbench"),
    "wvs_prefixes",
]


def test_the_experiments_are_described_in_one_line():
    found = experiments()
    assert set(EXPERIMENTS) <= set(found)
    assert all(text and "\n" not in text for text in found.values())
    assert "@package" not in " ".join(found.values())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_shipped_experiment_composes(name):
    config, text = compose([f"+experiment={name}"])
    assert isinstance(config, RunConfig)
    assert config.name == name
    assert config.run_dir == f"outputs/{name}"
    assert config.title
    assert set(config.stages) == set(STAGES)
    assert config.respondents or config.imported
    loaded = yaml.safe_load(text)
    assert loaded["analysis"]["parts"] == config.analysis.parts
    assert "${" not in text


@pytest.mark.parametrize("name", experiments())
def test_another_sampler_has_its_own_settings_in_every_experiment(name):
    """Not the transitions of the experiment's, which make a preview as slow as what it precedes."""
    config, _ = compose([f"+experiment={name}", "sampler=laplace"])
    text = (folder("conf") / "sampler" / "laplace.yaml").read_text(encoding="utf-8")
    assert {key: getattr(config.sampler, key) for key in yaml.safe_load(text)} == yaml.safe_load(
        text
    )


@pytest.mark.parametrize(
    ("name", "sampler"),
    [
        ("wvs_prefixes", "small_steps"),
        ("imported", "low_rank"),
        ("politicsbench", "roleplay"),
        ("even_handedness", "paired"),
        ("instruments", "nutpie"),
        ("eroglu", "low_rank"),
    ],
)
def test_an_experiment_is_sampled_as_it_needs(name, sampler):
    plain, _ = compose([f"+experiment={name}"])
    chosen, _ = compose([f"+experiment={name}", f"sampler={sampler}"])
    assert plain.sampler == chosen.sampler


def test_who_was_not_asked_is_not_in_the_config_of_an_import():
    assert compose(["+experiment=imported"])[0].respondents == {}


def all_of(group):
    return sorted(path.stem for path in (folder("conf") / group).glob("*.yaml"))


@pytest.mark.parametrize("name", all_of("analysis"))
def test_every_shipped_analysis_is_a_spec(name):
    from polbayes.fit.analysis import parse_analysis
    from polbayes.fit.spec.spec import Spec

    config, _ = compose([WVS, f"analysis={name}"])
    spec = parse_analysis(config.analysis, config.sampler)
    assert spec.response == config.analysis.response
    assert isinstance(spec, Spec) == ("mu" not in config.analysis.parts)
    if not isinstance(spec, Spec):
        return  # what has no prior of the user's gets Bambi's
    for part, formula in spec.parts.items():
        for group in formula.groups:
            assert spec.prior(part, group.name, "sd").positive


@pytest.mark.parametrize("name", [n for n in all_of("analysis") if n.startswith("ideology")])
def test_what_is_wanted_of_a_study_can_be_set_for_every_ideology_spec(name):
    changes = ["rope=0.05", "precision.measure=se_bias", "precision.wanted=0.04"]
    changes += ["precision.grid.items=[10,20]", "precision.prefixes=fixed"]
    config, _ = compose([WVS, f"analysis={name}", *(f"analysis.{c}" for c in changes)])
    assert config.analysis.rope == 0.05
    assert config.analysis.precision.measure == "se_bias"
    assert config.analysis.precision.grid.items == [10, 20]
    assert config.analysis.precision.probability == 0.8


@pytest.mark.parametrize("group", ["sampler", "elicitation"])
def test_every_shipped_choice_composes(group):
    for name in all_of(group):
        compose([WVS, f"{group}={name}"])


def test_overrides_arrive():
    config, text = compose(
        [WVS, "seed=7", "models=[left,right]", "run_dir=elsewhere", "sampler.draws=123"]
    )
    assert (config.seed, config.models, config.run_dir) == (7, ["left", "right"], "elsewhere")
    assert config.sampler.draws == 123
    assert yaml.safe_load(text)["seed"] == 7


def test_a_respondent_can_be_added():
    config, _ = compose([WVS, "+respondents.mine.checkpoint=some/folder"])
    assert config.respondents["mine"].checkpoint == "some/folder"
    assert config.respondents["mine"].backend == "causal"
    assert config.respondents["mine"].trust_remote_code is False


def test_a_part_of_the_model_can_be_left_out_or_changed():
    config, _ = compose([WVS, "~analysis.parts.quirk", "analysis.parts.steer='~ (1 | prefix)'"])
    assert "quirk" not in config.analysis.parts
    assert config.analysis.parts["steer"] == "~ (1 | prefix)"


def test_a_run_of_ones_own_needs_no_experiment():
    config, _ = compose(["name=mine", "instruments=[wvs]"])
    assert (config.name, config.run_dir) == ("mine", "outputs/mine")


def test_a_folder_of_ones_own_configs(tmp_path):
    (tmp_path / "experiment").mkdir()
    (tmp_path / "experiment" / "mine.yaml").write_text(
        "# @package _global_\nname: mine\ninstruments: [pct]\n", encoding="utf-8"
    )
    config, _ = compose(["+experiment=mine"], str(tmp_path))
    assert config.instruments == ["pct"]


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        (
            ["+experiment=wvs_prefix"],
            "unknown experiment 'wvs_prefix'; did you mean 'wvs_prefixes'?",
        ),
        (
            ["+experiment=zzz"],
            "unknown experiment 'zzz'; known: eroglu, even_handedness, ",
        ),
        (["experiment=wvs_prefixes"], "must be added with a plus sign: +experiment=NAME"),
        (
            [],
            "no experiment was chosen; add +experiment=NAME with one of eroglu, even_handedness, ",
        ),
        (["seed=1"], "no experiment was chosen"),
        ([WVS, "sede=3"], "config: unknown key 'sede'; did you mean 'seed'?"),
        ([WVS, "+sede=3"], "config: unknown key 'sede'; did you mean 'seed'?"),
        ([WVS, "sampler.drows=3"], "sampler: unknown key 'drows'; did you mean 'draws'?"),
        ([WVS, "prefixes.onli=[likert]"], "prefixes: unknown key 'onli'; did you mean 'only'?"),
        ([WVS, "++sampler.drows=3"], "sampler: unknown key 'drows'; did you mean 'draws'?"),
        (
            [WVS, "respondents.left.chekpoint=x"],
            "respondents.left: unknown key 'chekpoint'; did you mean 'checkpoint'?",
        ),
        (
            [WVS, "+respondents.mine.chekpoint=x"],
            "respondents.mine: unknown key 'chekpoint'; did you mean 'checkpoint'?",
        ),
        ([WVS, "models=[lefft]"], "models: unknown model 'lefft'; did you mean 'left'?"),
        ([WVS, "items.only=[a]"], "items.only: items is a list, as in 'items=[...]'; it has no"),
        ([WVS, "stages.only=[fit]"], "stages.only: stages is a list, as in 'stages=[...]'"),
        ([WVS, "models=[]"], "models: the list is empty"),
        ([WVS, "respondents=none"], "respondents: there is none; choose e.g. respondents=embedded"),
        ([WVS, "analysis=ideologie"], "unknown analysis 'ideologie'; did you mean 'ideology'?"),
        ([WVS, "sampler=nutpy"], "unknown sampler 'nutpy'; did you mean 'nutpie'?"),
        (
            [WVS, "elicitation=forced"],
            "unknown elicitation 'forced'; did you mean 'forced_choice'?",
        ),
        (
            ["+experiment=even_handedness", "judges=[embeded]"],
            "unknown judges 'embeded'; did you mean 'embedded'?",
        ),
        (
            [WVS, "prefixes=baseline"],
            "prefixes: 'baseline' stands where keys with values are expected",
        ),
        ([WVS, "stages=[fitt]"], "stages: unknown stage 'fitt'; did you mean 'fit'?"),
        ([WVS, "stages=[]"], "stages: the list is empty; name some of probe, code, measure, fit"),
        ([WVS, "task=explian"], "task: unknown task 'explian'; did you mean 'explain'?"),
        ([WVS, "instruments=[]"], "instruments: the list is empty"),
        ([WVS, "analysis.level=90"], "analysis.level: must be between 0 and 1, not 90"),
        ([WVS, "measures.level=0"], "measures.level: must be between 0 and 1"),
        ([WVS, "measures.strong=2"], "measures.strong: must lie between 0 and 1"),
        ([WVS, "measures.bootstrap=5"], "measures.bootstrap: at least 100"),
        ([WVS, "sampler.draws=many"], "sampler.draws: "),
        ([WVS, "sampler.draws=1.5"], "sampler.draws: "),
        ([WVS, "seed=null"], "seed: "),
        ([WVS, "models=left"], "models: "),
        ([WVS, "seed=["], "seed=["),
        ([WVS, "title='a\x1b[31m'"], "title: the text has the character U+001B, which nobody can"),
        (
            [WVS, "analysis.precision.grid.items=[10,[many]]"],
            "analysis.precision.grid.items: must be a list of numbers, not of '['many']'",
        ),
        ([WVS, "paraphrase.least_words=-1"], "paraphrase.least_words: must be at least 0, not -1"),
    ],
)
def test_what_cannot_be_composed_is_one_sentence(overrides, says):
    with pytest.raises(UserError) as caught:
        compose(overrides)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


# Each key stands for ten times as many values as the one before.
LAUGHS = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
LAUGHS += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("kind: &b {b: *b}", "mine.yaml: line 4 is not valid YAML: a value contains itself"),
        ("\n".join(LAUGHS), "mine.yaml: line 2 is not valid YAML: it has more than 100,000 values"),
        ("kind: " + "[" * 300 + "]" * 300, "its values are nested too deeply"),
        ("analysis: {priors: [{a: b}]}", "Cannot merge DictConfig with ListConfig"),
        ("analysis: {parts: {null: '~ 1'}}", "NoneType"),
    ],
)
def test_a_config_of_ones_own_that_cannot_be_composed(tmp_path, content, says):
    (tmp_path / "experiment").mkdir()
    head = "# @package _global_\nname: mine\ninstruments: [wvs]\n"
    (tmp_path / "experiment" / "mine.yaml").write_text(head + content, encoding="utf-8")
    with pytest.raises(UserError) as caught:
        compose(["+experiment=mine"], str(tmp_path))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 2000


def test_a_missing_config_folder_is_named():
    with pytest.raises(UserError, match="--config-dir: '/no/such/folder' is not a folder"):
        compose([WVS], "/no/such/folder")


def test_an_unknown_respondent_is_the_thing_that_is_wrong():
    with pytest.raises(UserError, match="'lefft'; did you mean 'left'"):
        compose([WVS, "respondents.lefft.checkpoint=x"])


def test_an_unknown_key_of_the_importer_is_compared_to_its_keys():
    with pytest.raises(UserError, match="imported: unknown key 'pathh'; did you mean 'path'"):
        compose(["+experiment=imported", "imported.pathh=x"])


@pytest.mark.parametrize("name", all_of("importer"))
def test_what_the_importer_checks_itself_needs_no_plus_sign(name):
    """Whether or not the importer's file has such a key already."""
    given = ["imported.columns.variant=v", "imported.columns.topic=t", "imported.columns={run: r}"]
    given += ["imported.where={task: mine}", "imported.where.kind=[a,b]"]
    before = compose([f"+importer={name}", "name=x"])[0].imported
    after = compose([f"+importer={name}", "name=x", *given])[0].imported
    assert after.columns == {**before.columns, "variant": "v", "topic": "t", "run": "r"}
    assert after.where == {**before.where, "task": "mine", "kind": ["a", "b"]}


def test_a_plus_sign_before_a_key_that_is_there_is_too_much():
    with pytest.raises(UserError) as caught:
        compose(["+importer=inspect", "name=x", "+imported.columns.variant=v"])
    says = "'imported.columns.variant' is there already; write it without the plus sign."
    assert str(caught.value) == says


def test_a_part_that_was_not_there_must_be_added_with_a_plus_sign():
    with pytest.raises(UserError) as caught:
        compose([WVS, "analysis.parts.validity='~ 1'"])
    assert "known: none" not in str(caught.value)
    assert "+analysis.parts.validity" in str(caught.value)


def test_a_single_value_where_a_list_is_wanted_says_how_to_write_one():
    with pytest.raises(UserError, match=r"models: .*list"):
        compose([WVS, "models=left"])


def test_a_part_can_be_switched_off_with_null():
    """`polbayes.fit.spec.spec` knows a part that is None as one that an override switched off."""
    config, _ = compose([WVS, "analysis.parts.quirk=null"])
    assert config.analysis.parts.get("quirk") is None


def test_differences_are_listed_by_dotted_key():
    old = {"seed": 1, "sampler": {"draws": 100, "chains": 4}, "gone": [1], "same": {"a": None}}
    new = {"seed": 2, "sampler": {"draws": 200, "chains": 4}, "came": {"x": 1}, "same": {"a": None}}
    assert differences(old, new) == [
        ("seed", 1, 2),
        ("sampler.draws", 100, 200),
        ("gone", [1], None),
        ("came", None, {"x": 1}),
    ]


trees = st.recursive(
    st.one_of(
        st.integers(0, 3), st.text("ab", max_size=2), st.lists(st.integers(0, 2), max_size=2)
    ),
    lambda inner: st.dictionaries(st.text("xyz", min_size=1, max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(trees, trees)
def test_differences_are_none_for_equal_configs_and_mirror_each_other(a, b):
    assert differences(a, a) == []
    assert bool(differences(a, b)) == (a != b)
    assert {(k, x, y) for k, x, y in map(frozen, differences(a, b))} == {
        (k, y, x) for k, x, y in map(frozen, differences(b, a))
    }


def frozen(row):
    return tuple(map(str, row))


def test_every_key_that_changes_a_result_has_a_stage():
    """The others say what to do now and where, not what comes out."""
    unstaged = {"task", "run_dir", "stages", "specs", "runs", "modes", "answers_from", "journal"}
    unstaged |= {"give_up_after"}
    unstaged |= {"annotation", "training", "validation", "paraphrase", "ablation"}
    unstaged |= {"launcher", "inspect", "watch", "export", "plan"}
    assert set(vars(RunConfig())) - set(STAGE_OF_KEY) == unstaged
    assert set(STAGE_OF_KEY.values()) == set(STAGES)


@pytest.mark.parametrize("task", ["annotate", "train_coder", "validate_coder", "inspect", "watch"])
def test_a_task_on_a_run_is_named_after_its_folder(task):
    assert compose([f"task={task}", "run_dir=there/mine"])[0].name == "mine"
    config, _ = compose([f"task={task}", "+experiment=wvs_prefixes"])
    assert config.run_dir == "outputs/wvs_prefixes"
    with pytest.raises(UserError, match=f"task={task} works in a run's folder"):
        compose([f"task={task}"])


def test_a_comparison_needs_no_experiment_and_is_named_after_its_runs():
    config, _ = compose(["task=compare", "runs=[outputs/a b,there/2026.1]"])
    assert config.name == "compare_a_b_2026.1"
    assert config.run_dir == "outputs/compare_a_b_2026.1"
    assert config.runs == ["outputs/a b", "there/2026.1"]
    assert compose(["task=compare", "runs=[a,b]", "name=mine"])[0].run_dir == "outputs/mine"


@pytest.mark.parametrize(
    ("scale", "response", "family"),
    [
        ("points:[No,Yes]", "agree", "bernoulli"),
        ("options:{n:No,y:Yes}", "agree", "bernoulli"),
        ("points:[No,Maybe,Yes]", "stance", "cumulative"),
        ("points:[No,Rather,Yes],stances:[disagree,agree,agree]", "rating", "cumulative"),
        ("points:[a,b,c,d]", "rating", "cumulative"),
        ("points:[a,b,c,d,e,f,g]", "rating", "cumulative"),
        ("columns:{model:m}", "stance", "cumulative"),
    ],
)
def test_an_imported_table_has_an_analysis_that_fits_its_scale(scale, response, family):
    table = ["name=mine", "instruments=[wvs]", "+imported={path:a.csv," + scale + "}"]
    config, text = compose([*table, "analysis.level=0.8"])
    assert (config.analysis.response, config.analysis.family) == (response, family)
    assert config.analysis.level == 0.8
    assert yaml.safe_load(text)["analysis"]["response"] == response
    chosen, _ = compose([*table, "analysis=ideology_one_model"])
    assert chosen.analysis == compose([WVS, "analysis=ideology_one_model"])[0].analysis


def test_the_default_analysis_is_the_ideology_model():
    assert compose([WVS])[1] == compose([WVS, "analysis=ideology"])[1]


@pytest.mark.parametrize("imported", ["5", "[a]", "{points:3}", "{options:[a]}", "{points:{a:b}}"])
def test_a_table_declared_in_a_wrong_way_is_one_sentence(imported):
    with pytest.raises(UserError) as caught:
        compose(["name=mine", "instruments=[wvs]", f"+imported={imported}"])
    assert "attribute" not in str(caught.value)
    assert "imported" in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("plan=null", "plan.width=0.3"),
        ("plan.assume=null", "+plan.assume.theta.sd='HalfNormal(1)'"),
        ("plan.width=1", "plan.width.x=2"),
        ("analysis.precision=null", "analysis.precision.wanted=0.9"),
        ("imported=null", "+imported.path=x.csv"),
        ("+respondents.a=null", "+respondents.a.backend=simulated"),
    ],
)
def test_overrides_that_contradict_each_other(first, second):
    for order in ([first, second], [second, first]):
        with pytest.raises(UserError) as raised:
            compose(["+experiment=wvs_prefixes", *order])
        key = first.lstrip("+").split("=")[0]
        assert str(raised.value) == (
            f"{key}: '{first}' leaves no keys below it, which '{second}' sets; "
            "leave one of the two out."
        )


def test_a_file_of_a_group_and_its_keys_do_not_contradict_each_other():
    config, _ = compose(["+experiment=wvs_prefixes", "sampler=laplace", "sampler.chains=2"])
    assert (config.sampler.backend, config.sampler.chains) == ("laplace", 2)
    config, _ = compose(["+experiment=wvs_prefixes", "plan.width=null", "plan.width=1"])
    assert config.plan.width == 1


def test_a_value_with_brackets_needs_quotes():
    with pytest.raises(UserError, match=r"plan.assume.sd: the value 'HalfNormal\(1\)' cannot be"):
        compose(["+experiment=wvs_prefixes", "+plan.assume.sd=HalfNormal(1)"])
