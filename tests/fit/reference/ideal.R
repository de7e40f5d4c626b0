# Ideal points of the senators of the 109th Congress: Rscript ideal.R votes.csv positions.csv items.csv
#
# First the contested votes are written, the most even ones; then `pscl::ideal` fits them.
suppressMessages(library(pscl))
paths <- commandArgs(trailingOnly = TRUE)
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
write.csv(long[!is.na(long$yea), ], paths[1], row.names = FALSE)
rc <- rollcall(votes, yea = 1, nay = 0, missing = NA, legis.names = rownames(votes))
set.seed(1)
fit <- ideal(
  rc, d = 1, maxiter = 12000, burnin = 2000, thin = 10, normalize = TRUE, store.item = TRUE
)
x <- fit$x[, , 1]
write.csv(
  data.frame(legislator = colnames(x), mean = colMeans(x), sd = apply(x, 2, sd)),
  paths[2], row.names = FALSE
)
beta <- apply(fit$beta[, , 1], 2, mean)
write.csv(
  data.frame(vote = sprintf("v%03d", seq_len(ncol(votes))), discrimination = beta),
  paths[3], row.names = FALSE
)
