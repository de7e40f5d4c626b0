# Reference numbers of tests/fit/test_group_effects_lme4.py, by lme4: Rscript group_effects.R
# The data are made by formulas without random numbers, so that Python makes the same ones.
library(lme4)
options(digits = 12)

d <- expand.grid(p = 0:1, w = 0:1, i = 0:3, m = 0:23)
d$n <- ((d$m * 4 + d$i) * 2 + d$w) * 2 + d$p
d$cultural <- as.integer(d$i >= 2)
d$instruct <- d$m %% 2
d$family <- d$m %/% 4
d$s <- ifelse(d$i %% 2 == 0, -1, 1) * ifelse(d$w == 0, 1, -1)
theta <- 0.3 * sin(2.1 * d$m + 5 * d$cultural) + 0.5 * sin(3 * d$family + 2 * d$cultural) +
  d$instruct * ifelse(d$cultural == 1, 0.6, -0.8)
r <- plogis(0.2 + d$s * theta + 0.3 * sin(0.37 * d$n^2 + 0.1 * d$n))
d$y <- qlogis((r * 999 + 0.5) / 1000)
d$dimension <- factor(ifelse(d$cultural == 1, "cultural", "economic"))
d$family <- factor(d$family)
d$model <- factor(d$m)
tight <- lmerControl(optCtrl = list(xtol_rel = 1e-12, ftol_abs = 1e-14))
fit <- lmer(y ~ 1 + s:dimension + s:dimension:instruct + (0 + s | family:dimension) +
  (0 + s | model:dimension), d, control = tight)
print(summary(fit)$coefficients[, 1:2])
print(as.data.frame(VarCorr(fit))[, c("grp", "sdcor")])
