# Dynamic ideal points of the justices of the Rehnquist court: Rscript dynamic.R votes.csv positions.csv
#
# First the contested votes are written; then `MCMCpack::MCMCdynamicIRT1d` fits them.
suppressMessages(library(MCMCpack))
paths <- commandArgs(trailingOnly = TRUE)
data(Rehnquist)
names <- setdiff(colnames(Rehnquist), c("term", "time"))
split <- apply(Rehnquist[, names], 1, function(v) length(unique(v[!is.na(v)])) > 1)
cases <- Rehnquist[split & seq_len(nrow(Rehnquist)) %% 2 == 0, ]
long <- data.frame(
  justice = rep(names, each = nrow(cases)), term = rep(cases$term, length(names)),
  case = rep(sprintf("c%03d", seq_len(nrow(cases))), length(names)),
  yea = unlist(cases[, names], use.names = FALSE)
)
write.csv(long[!is.na(long$yea), ], paths[1], row.names = FALSE)
start <- rep(0, length(names))
start[names == "Stevens"] <- -2
start[names == "Thomas"] <- 2
fit <- MCMCdynamicIRT1d(
  t(cases[, names]), item.time.map = cases$time, theta.start = start,
  mcmc = 20000, burnin = 10000, thin = 5, verbose = 0, seed = 1,
  tau2.start = 0.1, e0 = 0, E0 = 1, a0 = 0, A0 = 1, b0 = 0, B0 = 1, c0 = 2, d0 = 0.04,
  theta.constraints = list(Thomas = "+", Stevens = "-"), store.item = FALSE
)
theta <- fit[, grep("^theta", colnames(fit))]
write.csv(
  data.frame(name = colnames(theta), mean = colMeans(theta), sd = apply(theta, 2, sd)),
  paths[2], row.names = FALSE
)
