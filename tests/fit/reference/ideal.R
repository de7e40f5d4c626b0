# Ideal points by `pscl::ideal`: Rscript ideal.R votes.csv positions.csv items.csv
#
# Votes have the columns legislator, vote and yea (1 or 0); a missing row is a missing vote.
suppressMessages(library(pscl))
paths <- commandArgs(trailingOnly = TRUE)
long <- read.csv(paths[1], stringsAsFactors = FALSE)
votes <- with(long, tapply(yea, list(legislator, vote), mean))
rc <- rollcall(
  votes, yea = 1, nay = 0, missing = NA, legis.names = rownames(votes),
  vote.names = colnames(votes)
)
set.seed(1)
fit <- ideal(
  rc, d = 1, maxiter = 12000, burnin = 2000, thin = 10, normalize = TRUE, store.item = TRUE
)
x <- t(scale(t(fit$x[, , 1]))) # mean 0 and standard deviation 1 in every draw
colnames(x) <- dimnames(fit$x)[[2]]
write.csv(
  data.frame(legislator = colnames(x), mean = colMeans(x), sd = apply(x, 2, sd)),
  paths[2], row.names = FALSE
)
beta <- apply(fit$beta[, , 1], 2, mean)
write.csv(
  data.frame(vote = colnames(votes), discrimination = beta), paths[3], row.names = FALSE
)
