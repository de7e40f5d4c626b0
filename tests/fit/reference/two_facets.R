# Reference numbers of tests/fit/test_two_facets.py, by lme4: Rscript two_facets.R
# The data are made by formulas without random numbers, so that Python makes the same ones.
library(lme4)
options(digits = 12)

d <- expand.grid(p = 0:3, i = 0:11, m = 0:9)
k <- seq_len(nrow(d)) - 1
d$y <- with(d, 0.9 * sin(2.3 * m + 0.5) + 0.6 * sin(1.7 * i^2 + 0.3) + 0.3 * cos(2.1 * p) +
  0.5 * sin(3.1 * m + 5.3 * i^2 + m * i) + 0.35 * sin(4.7 * m^2 + 2.9 * p + 1) +
  0.4 * sin(0.37 * k^2 + 0.1 * k))
for (name in c("p", "i", "m")) d[[name]] <- factor(d[[name]])
fit <- lmer(y ~ (1 | m) + (1 | i) + (1 | p) + (1 | m:i) + (1 | m:p), d, REML = TRUE,
  control = lmerControl(optCtrl = list(xtol_rel = 1e-12, ftol_abs = 1e-14)))
print(as.data.frame(VarCorr(fit))[c("grp", "vcov")])
