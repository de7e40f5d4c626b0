# Contested votes of the 109th Congress, the most even ones: Rscript senate.R votes.csv
suppressMessages(library(pscl))
path <- commandArgs(trailingOnly = TRUE)
data(s109)
s109$desc <- NULL
votes <- convertCodes(s109)
keep <- rowSums(!is.na(votes)) > 0.6 * ncol(votes)
votes <- votes[keep, ]
party <- as.character(s109$legis.data$party)[keep]
even <- abs(colMeans(votes, na.rm = TRUE) - 0.5)
votes <- votes[, order(even)[1:120]]
long <- data.frame(
  legislator = rep(rownames(votes), ncol(votes)), party = rep(party, ncol(votes)),
  vote = rep(sprintf("v%03d", seq_len(ncol(votes))), each = nrow(votes)), yea = as.vector(votes)
)
write.csv(long[!is.na(long$yea), ], path, row.names = FALSE)
