# The ideology model with decisiveness in brms: Rscript brms_disc.R answers.csv draws.csv
#
# brms has P(y <= k) = logistic(disc * (cut[k] - mu)), so that its disc is the decisiveness. It wants
# three points for that; with two a formula that is not linear says the same. Quirks are what a
# model thinks of single items, with a standard deviation of 1. Acquiescence sums to zero over the
# models, as in brms.R. The two cutpoints are -width / 2 - a and width / 2 - a, a being acquiescence.
suppressMessages(library(brms))
if (!nzchar(rstan::rstan_options("boost_lib"))) {
  # Debian's BH has its headers among the system's.
  rstan::rstan_options(boost_lib = "/usr/include", boost_lib2 = "/usr/include")
}
paths <- commandArgs(trailingOnly = TRUE)
d <- read.csv(paths[1])
d$y <- factor(d$y, levels = sort(unique(d$y)), ordered = TRUE)
points <- nlevels(d$y)
d$place <- interaction(d$model, d$dimension)
for (place in levels(d$place)) {
  d[[paste0("at_", gsub(".", "_", place, fixed = TRUE))]] <- d$keying * (d$place == place)
}
positions <- grep("^at_", names(d), value = TRUE)
d$thought <- paste(d$model, d$item, sep = "_")
d$against <- -d$keying
models <- sort(unique(d$model))
Am <- diag(length(models)) - 1 / length(models) + 1e-9 * diag(length(models))
dimnames(Am) <- list(models, models)
terms <- paste(
  paste(positions, collapse = " + "),
  "+ (1 | gr(model, cov = Am)) + (0 + against | item) + (0 + keying | thought)"
)
if (points == 3) {
  formula <- bf(
    as.formula(paste("y | weights(n) ~", terms)), disc ~ 0 + model,
    family = cumulative("logit"), center = FALSE
  )
} else {
  d$y <- as.integer(d$y) - 1
  formula <- bf(
    y | weights(n) ~ exp(sharp) * eta, as.formula(paste("eta ~ 1 +", terms)), sharp ~ 0 + model,
    family = bernoulli("logit"), nl = TRUE
  )
}
of_eta <- function(...) {
  if (points == 3) set_prior(...) else set_prior(..., nlpar = "eta")
}
priors <- c(
  of_eta("normal(0, 1)", class = "b"),
  of_eta("normal(0, 1)", class = "sd"),
  of_eta("constant(1)", class = "sd", group = "thought"),
  if (points == 3) {
    c(
      set_prior("normal(1, 1)", class = "b", dpar = "disc"),
      set_prior("", class = "Intercept")
    )
  } else {
    set_prior("normal(1, 1)", class = "b", nlpar = "sharp")
  }
)
# The map from (a, width) to the two cutpoints has a constant Jacobian.
cuts <- if (points == 3) stanvar(
  scode = paste(
    "target += normal_lpdf(-(Intercept[1] + Intercept[2]) / 2 | 0, 1);",
    "target += lognormal_lpdf(Intercept[2] - Intercept[1] | 0, 0.7);"
  ),
  block = "model"
)
fit <- brm(
  formula, d, prior = priors, data2 = list(Am = Am), stanvars = cuts, chains = 4, cores = 2,
  iter = 2500, seed = 1, refresh = 0, silent = 2, control = list(adapt_delta = 0.95)
)
draws <- as.data.frame(as_draws_df(fit))
# In the formula that is not linear every name begins with that of its part.
part <- if (points == 3) "" else "eta_"
sharp <- if (points == 3) "b_disc_model" else "b_sharp_model"
effect <- function(group, level, name) {
  draws[[sprintf("r_%s[%s,%s]", paste0(group, if (points == 2) "__eta"), level, name)]]
}
out <- data.frame(
  sd_acquiescence = draws[[paste0("sd_model__", part, "Intercept")]],
  sd_difficulty = draws[[paste0("sd_item__", part, "against")]]
)
if (points == 3) {
  cut <- cbind(draws[["b_Intercept[1]"]], draws[["b_Intercept[2]"]])
  out$acquiescence <- -rowMeans(cut)
  out$gap <- cut[, 2] - cut[, 1]
} else {
  out$acquiescence <- draws$b_eta_Intercept
}
for (m in models) {
  for (dimension in unique(d$dimension)) {
    out[[paste("theta", m, dimension, sep = "_")]] <-
      draws[[paste0("b_", part, "at_", m, "_", dimension)]]
  }
  out[[paste0("log_decisiveness_", m)]] <- draws[[paste0(sharp, m)]]
  out[[paste0("acquiescence_", m)]] <- out$acquiescence + effect("model", m, "Intercept")
}
for (i in unique(d$item)) {
  out[[paste0("difficulty_", i)]] <- effect("item", i, "against")
}
out$rhat <- max(rhat(fit), na.rm = TRUE)
write.csv(out, paths[2], row.names = FALSE)
