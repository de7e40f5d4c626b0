# A proportional odds model by maximum likelihood: Rscript polr.R answers.csv coefficients.csv
suppressMessages(library(MASS))
paths <- commandArgs(trailingOnly = TRUE)
d <- read.csv(paths[1])
d$y <- factor(d$y, levels = c(-1, 0, 1), ordered = TRUE)
d$econ <- d$keying * (d$dimension == "economic")
d$cult <- d$keying * (d$dimension == "cultural")
fit <- polr(y ~ econ + cult, d, weights = n, Hess = TRUE)
cuts <- fit$zeta
# The middle of the cutpoints is minus the acquiescence, their distance the width.
turn <- rbind(
  theta_economic = c(1, 0, 0, 0), theta_cultural = c(0, 1, 0, 0),
  acquiescence = c(0, 0, -0.5, -0.5), gap = c(0, 0, -1, 1)
)
estimate <- turn %*% c(coef(fit), cuts)
se <- sqrt(diag(turn %*% vcov(fit) %*% t(turn)))
write.csv(
  data.frame(quantity = rownames(turn), estimate = estimate[, 1], se = se),
  paths[2], row.names = FALSE
)
