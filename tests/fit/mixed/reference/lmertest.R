# Reference numbers of tests/fit/mixed/test_mixed_classical.py, by lme4, lmerTest and lm:
# Rscript lmertest.R
# The data are made by formulas without random numbers, so that Python makes the same ones.
suppressMessages(library(lmerTest))
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
    shift = 0.3 * sin(5 * item + 1),
    between = cos(2 * item)
  )
}

show <- function(label, fit) {
  cat("\n", label, "\n", sep = "")
  table <- coef(summary(fit))
  for (name in colnames(table)) cat(name, paste(table[, name], collapse = ", "), "\n")
}

tight <- lmerControl(optCtrl = list(xtol_rel = 1e-12, ftol_abs = 1e-14))
small <- made(12, 8 + (seq_len(12) - 1) %% 7)
small$y <- 0.4 + 0.25 * small$x1 - 0.1 * small$x2 + 0.05 * small$x3 + small$shift + 0.3 * small$noise
fit <- lmer(y ~ x1 + x2 + between + (1 | item), small, control = tight)
show("small", fit)
cat("sd", as.data.frame(VarCorr(fit))$sdcor, "\n")
fit <- lmer(y ~ 0 + x1 + x2 + (1 | item), small, control = tight)
show("no intercept", fit)
cat("sd", as.data.frame(VarCorr(fit))$sdcor, "\n")
small$flat <- 0.25 * small$x1 + 0.3 * small$noise -
  ave(0.25 * small$x1 + 0.3 * small$noise, small$item)
show("singular", suppressMessages(lmer(flat ~ x1 + x2 + (1 | item), small, control = tight)))
show("no groups", lm(y ~ x1 + x2, small))
