# Reference numbers of the tests in tests/fit/mixed, by lme4: Rscript lme4.R
# The data are made by formulas without random numbers, so that Python makes the same ones.
library(lme4)
options(digits = 12)

made <- function(groups, sizes) {
  item <- rep(seq_len(groups) - 1, sizes)
  i <- seq_along(item) - 1
  data.frame(
    item = factor(item),
    x1 = sin(0.7 * i) + 0.2 * sin(3 * item),
    x2 = cos(1.3 * i)^2,
    x3 = (i * 7) %% 11 / 10,
    noise = sin(0.37 * i * i + 0.1 * i),
    shift = 0.3 * sin(5 * item + 1)
  )
}

show <- function(label, fit) {
  cat("\n", label, "\n", sep = "")
  cat("fixef", fixef(fit), "\n")
  cat("se", sqrt(diag(as.matrix(vcov(fit)))), "\n")
  cat("sd", as.data.frame(VarCorr(fit))$sdcor, "\n")
  cat("logLik", as.numeric(logLik(fit)), "\n")
}

tight <- lmerControl(optCtrl = list(xtol_rel = 1e-12, ftol_abs = 1e-14))
small <- made(12, 8 + (seq_len(12) - 1) %% 7)
small$y <- 0.4 + 0.25 * small$x1 - 0.1 * small$x2 + 0.05 * small$x3 + small$shift + 0.3 * small$noise
fit <- lmer(y ~ x1 + x2 + x3 + (1 | item), small, REML = TRUE, control = tight)
show("small", fit)
cat("ranef", ranef(fit)$item[[1]], "\n")

large <- made(62, rep(60, 62))
large$y <- 0.5 + 0.02 * large$x1 - 0.01 * large$x2 + large$shift / 3 + 0.25 * large$noise
show("large", lmer(y ~ x1 + x2 + x3 + (1 | item), large, REML = TRUE, control = tight))

crossed <- made(24, rep(40, 24))
crossed$prefix <- factor((seq_len(nrow(crossed)) - 1) %% 8)
crossed$y <- with(crossed, 0.3 * x1 + shift + 0.2 * sin(2 * as.integer(prefix)) + 0.3 * noise)
show("crossed", lmer(y ~ x1 + (1 | item) + (1 | prefix), crossed, REML = TRUE, control = tight))
crossed$yes <- as.integer(crossed$x1 + 3 * crossed$shift + 2 * crossed$noise > 0.2)
show("bernoulli", glmer(yes ~ x1 + x3 + (1 | item), crossed, binomial, nAGQ = 15))
