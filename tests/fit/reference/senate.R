# Votes of the 109th Congress: Rscript senate.R votes.csv [N]
#
# The N most even ones (120 unless told), without those on which all agreed.
suppressMessages(library(pscl))
given <- commandArgs(trailingOnly = TRUE)
most <- if (length(given) > 1) as.integer(given[2]) else 120
data(s109)
s109$desc <- NULL
votes <- convertCodes(s109)
keep <- rowSums(!is.na(votes)) > 0.6 * ncol(votes)
votes <- votes[keep, ]
party <- as.character(s109$legis.data$party)[keep]
even <- abs(colMeans(votes, na.rm = TRUE) - 0.5)
votes <- votes[, order(even)[seq_len(min(most, sum(even < 0.5)))]]
long <- data.frame(
  legislator = rep(rownames(votes), ncol(votes)), party = rep(party, ncol(votes)),
  vote = rep(sprintf("v%03d", seq_len(ncol(votes))), each = nrow(votes)), yea = as.vector(votes)
)
write.csv(long[!is.na(long$yea), ], given[1], row.names = FALSE)
