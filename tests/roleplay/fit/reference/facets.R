# Cumulative logit model with crossed judges and models, by maximum likelihood (ordinal::clmm).
# The numbers that tests/roleplay/fit/test_facet_clmm.py compares with. Rscript facets.R
library(ordinal)
x <- 1
u <- function(n) sapply(seq_len(n), function(k) {
  x <<- (1229 * x + 351750) %% 1664501
  (x + 0.5) / 1664501
})
position <- c(2.2, 2.6, 3.1, 1.7)
severe <- c(0.5, -0.4, -0.1)
d <- NULL
for (m in 1:4) for (s in 1:30) {
  both <- 0.35 * qnorm(u(1))
  for (g in 1:4) {
    unit <- 0.45 * qnorm(u(1))
    for (j in 1:3) {
      p <- u(1)
      eta <- position[m] + 0.4 * sin(2.3 * s) + both + unit - severe[j] + 0.5 * log(p / (1 - p))
      d <- rbind(d, data.frame(m, s, g, j, y = min(max(round(eta), 0), 5)))
    }
  }
}
d$unit <- interaction(d$m, d$s, d$g)
d$pair <- interaction(d$m, d$s)
for (n in c("m", "s", "j")) d[[n]] <- factor(d[[n]], levels = sort(unique(d[[n]])))
contrasts(d$m) <- contr.sum(4)
contrasts(d$j) <- contr.sum(3)
d$y <- factor(d$y, ordered = TRUE)
print(table(d$y))
fit <- clmm(y ~ m + j + (1 | s) + (1 | pair) + (1 | unit), data = d, link = "logit")
print(summary(fit)$coefficients, digits = 6)
print(fit$ST)
