# Verdicts as a cumulative logit mixed model by maximum likelihood: Rscript clmm.R verdicts.csv out.csv
suppressMessages(library(ordinal))
paths <- commandArgs(trailingOnly = TRUE)
d <- read.csv(paths[1])
d$y <- factor(d$y, levels = c(-1, 0, 1), ordered = TRUE)
for (n in c("m", "topic", "pair")) d[[n]] <- factor(d[[n]])
fit <- clmm(y ~ m + first + x + (1 | topic) + (1 | pair), data = d, link = "logit", nAGQ = 1)
# The middle of the two thresholds is minus the tilt of the first model, half their distance the
# threshold of the symmetric form.
turn <- rbind(
  tilt0 = c(-0.5, -0.5, 0, 0, 0, 0), tilt1 = c(-0.5, -0.5, 1, 0, 0, 0),
  tilt2 = c(-0.5, -0.5, 0, 1, 0, 0), threshold = c(-0.5, 0.5, 0, 0, 0, 0),
  first = c(0, 0, 0, 0, 1, 0), length = c(0, 0, 0, 0, 0, 1)
)
v <- vcov(fit)[1:6, 1:6]
estimate <- turn %*% coef(fit)[1:6]
sds <- sapply(VarCorr(fit), function(one) sqrt(one[1, 1]))
write.csv(
  data.frame(
    quantity = c(rownames(turn), paste0(names(sds), "_sd")), estimate = c(estimate, sds),
    se = c(sqrt(diag(turn %*% v %*% t(turn))), rep(NA, length(sds)))
  ),
  paths[2], row.names = FALSE
)
