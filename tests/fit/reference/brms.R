# A reduced ideology model in brms: Rscript brms.R answers.csv draws.csv
#
# Effects that sum to zero have the covariance sd^2 (I - J / n), which brms takes as that of the
# grouping factor. Not so where coefficients are correlated: there it skips every entry of the
# Cholesky factor below 1e-10, the negative ones among them. So theta's effects of the models are
# weighted sums of n - 1 free ones, a multi-membership term, the weights an orthonormal basis.
# The two cutpoints are -width / 2 - a and width / 2 - a, a being acquiescence.
suppressMessages(library(brms))
if (!nzchar(rstan::rstan_options("boost_lib"))) {
  # Debian's BH has its headers among the system's.
  rstan::rstan_options(boost_lib = "/usr/include", boost_lib2 = "/usr/include")
}
paths <- commandArgs(trailingOnly = TRUE)
d <- read.csv(paths[1])
d$y <- factor(d$y, levels = c(-1, 0, 1), ordered = TRUE)
d$econ <- d$keying * (d$dimension == "economic")
d$cult <- d$keying * (d$dimension == "cultural")
d$against <- -d$keying
zero_sum <- function(levels, within) {
  A <- diag(length(levels)) - outer(within, within, "==") / sum(within == within[1])
  dimnames(A) <- list(levels, levels)
  A + 1e-9 * diag(length(levels))
}
models <- sort(unique(d$model))
Am <- zero_sum(models, rep(1, length(models)))
basis <- qr.Q(qr(cbind(1, diag(length(models))[, -1])))[, -1]
for (k in seq_len(ncol(basis))) {
  d[[paste0("f", k)]] <- paste0("f", k)
  d[[paste0("w", k)]] <- basis[match(d$model, models), k]
}
stopifnot(ncol(basis) == 4)
items <- unique(d[c("item", "dimension")])
items <- items[order(items$item), ]
Ai <- zero_sum(items$item, items$dimension)
formula <- bf(
  y | weights(n) ~ econ + cult +
    (0 + econ + cult | mm(f1, f2, f3, f4, weights = cbind(w1, w2, w3, w4), scale = FALSE)) +
    (1 | gr(model, cov = Am)) + (0 + against | gr(item, cov = Ai)),
  center = FALSE
)
priors <- c(
  prior(normal(0, 1), class = "b"),
  prior("", class = "Intercept"),
  prior(normal(0, 1), class = "sd"),
  prior(lkj(2), class = "cor")
)
# `b_Intercept` are the two cutpoints; the map from (a, width) to them has a constant Jacobian.
cuts <- stanvar(
  scode = paste(
    "target += normal_lpdf(-(Intercept[1] + Intercept[2]) / 2 | 0, 1);",
    "target += lognormal_lpdf(Intercept[2] - Intercept[1] | 0, 0.7);"
  ),
  block = "model"
)
data2 <- list(Am = Am, Ai = Ai)
fit <- brm(
  formula, d, cumulative("logit"), priors, data2 = data2, stanvars = cuts, chains = 4, cores = 2,
  iter = 2000, seed = 1, refresh = 0, silent = 2, control = list(adapt_delta = 0.95)
)
draws <- as.data.frame(as_draws_df(fit))
out <- data.frame(
  gap = draws[["b_Intercept[2]"]] - draws[["b_Intercept[1]"]],
  acquiescence = -(draws[["b_Intercept[1]"]] + draws[["b_Intercept[2]"]]) / 2,
  theta_economic = draws$b_econ, theta_cultural = draws$b_cult,
  sd_economic = draws$sd_mmf1f2f3f4__econ, sd_cultural = draws$sd_mmf1f2f3f4__cult,
  sd_acquiescence = draws$sd_model__Intercept, sd_difficulty = draws$sd_item__against,
  cor = draws$cor_mmf1f2f3f4__econ__cult
)
free <- function(column) {
  as.matrix(draws[sprintf("r_mmf1f2f3f4[f%d,%s]", 1:4, column)]) %*% t(basis)
}
economic <- draws$b_econ + free("econ")
cultural <- draws$b_cult + free("cult")
for (k in seq_along(models)) {
  m <- models[k]
  out[[paste0("theta_", m, "_economic")]] <- economic[, k]
  out[[paste0("theta_", m, "_cultural")]] <- cultural[, k]
  out[[paste0("acquiescence_", m)]] <-
    out$acquiescence + draws[[sprintf("r_model[%s,Intercept]", m)]]
}
for (i in items$item) {
  out[[paste0("difficulty_", i)]] <- draws[[sprintf("r_item[%s,against]", i)]]
}
out$seconds <- sum(rstan::get_elapsed_time(fit$fit))
out$rhat <- max(rhat(fit), na.rm = TRUE)
write.csv(out, paths[2], row.names = FALSE)
