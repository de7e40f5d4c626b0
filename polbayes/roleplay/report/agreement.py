"""Agreement of the judges."""

from polbayes.report import show
from polbayes.report.blocks import Block, Fold, Section, grid
from polbayes.roleplay.report.results import RatingsResults, worded

_READING = (
    "Kappa puts every judge's alignment of a text into eleven classes. The grid 'scale' "
    "divides the whole range from −100 to 100; the grid 'published' is that of PoliticsBench, "
    "which divides −24 to 24 and assigns everything beyond to the outer classes, so that it "
    "shows little more than whether judges agree on the side. 'Share outer' is the share of "
    "texts in these two classes.",
    "ICC(2,1) is the share of the texts in the variance of single ratings, where differences "
    "between judges count as error; ICC(2,k) is the same for the mean over the panel, and "
    "ICC(3,.) ignores constant differences between judges. 1 is perfect; agreement has no "
    "sign.",
)


def agreement(results: RatingsResults) -> Section | None:
    """Show kappas on both grids, and intraclass correlations."""
    kappas, icc = results.table("judge_agreement"), results.table("judge_icc")
    if kappas is None or icc is None:
        return None
    together = kappas[(kappas["first"] == "all") | (kappas["first"].isna())]
    columns = [
        *worded("measure"),
        *show.texts("grid"),
        show.text("first", "Judge"),
        show.text("second", "and judge"),
        *show.texts("wordings"),
        *show.estimate("Estimate", results.level),
        show.count("n", "Texts"),
        show.count("n_excluded", "Left out"),
    ]
    of = [
        *worded("rated"),
        *show.texts("form"),
        *show.estimate("Intraclass correlation", results.level),
        show.count("n", "Texts"),
    ]
    main = icc["form"].isin(["ICC(2,1)", "ICC(2,k)"])
    main &= icc["rated"].isin(["alignment", "commitment"])
    caption = "Intraclass correlations of alignment and commitment."
    blocks: tuple[Block, ...] = (
        grid(together, columns, caption="Agreement of all judges.", csv="judge_agreement"),
        grid(icc[main], of, caption=caption, csv="judge_icc"),
        Fold(
            "Pairs of judges, and every value",
            (
                grid(kappas, columns, caption="Agreement.", csv="judge_agreement"),
                grid(icc, of, caption="Intraclass correlations.", csv="judge_icc"),
            ),
        ),
    )
    return Section("agreement", "Agreement between judges", _READING, blocks)
