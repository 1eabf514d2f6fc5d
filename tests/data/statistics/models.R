# Reference values of the models in analysis/, computed by R 4.2.2 with its base packages alone.
# Run in this folder: Rscript models.R > models-r.csv
tell <- function(case, name, value) cat(sprintf("%s,%s,%.12g\n", case, name, value))
cat("case,name,value\n")
least <- function(case, rss, n, p) {
  k <- p + 1
  tell(case, "rss", rss)
  tell(case, "aicc", n * log(rss / n) + 2 * k + 2 * k * (k + 1) / (n - k - 1))
}

# Saturation, every trial of the same weight, Mbit/s.
d <- read.csv("sweep.csv"); N <- d$streams; y <- d$throughput_mbits_per_s; n <- length(y)
tight <- nls.control(maxiter = 1000, tol = 1e-7)
fit <- function(case, formula, start, ...) {
  m <- nls(formula, start = start, control = tight, ...)
  for (p in names(coef(m))) tell(case, p, coef(m)[[p]])
  least(case, deviance(m), n, length(coef(m)))
}
m <- lm(y ~ 0 + N); tell("loss-limited", "k", coef(m)[[1]]); least("loss-limited", deviance(m), n, 1)
g <- 1 - 1 / (1 + 3 * N)
m <- lm(y ~ 0 + g); tell("altman", "C", coef(m)[[1]]); least("altman", deviance(m), n, 1)
fit("lu", y ~ N / sqrt(a * N^2 + b), list(a = 1e-4, b = 5e-3))
fit("yildirim-power", y ~ N / sqrt(a * N^c + b), list(a = 1e-5, b = 5e-3, c = 2.5))
fit("yildirim-quadratic", y ~ N / sqrt(a * N^2 + b * N + c), list(a = 1e-4, b = -1e-4, c = 5e-3))
# Its contention may not fall below 0, where these data would have it.
m <- nls(y ~ lambda * N / (1 + sigma * (N - 1) + kappa * N * (N - 1)), lower = c(0, 0, 0), algorithm = "port",
         start = list(lambda = 15, sigma = 0.05, kappa = 0.01))
for (p in c("lambda", "kappa")) tell("universal-scalability", p, coef(m)[[p]])
least("universal-scalability", deviance(m), n, 3)
knee <- function(at) sum(resid(lm(y ~ 0 + pmin(N, at)))^2)
ats <- seq(1, 20, by = 0.01); near <- ats[which.min(sapply(ats, knee))]
best <- optimize(knee, c(near - 0.05, near + 0.05), tol = 1e-12)$minimum
b <- coef(lm(y ~ 0 + pmin(N, best)))[[1]]
tell("linear-then-flat", "b", b); tell("linear-then-flat", "C", b * best)
least("linear-then-flat", knee(best), n, 2)
# Lack of fit of Lu's family: anova() of the curve against one mean per number of streams.
m <- nls(y ~ N / sqrt(a * N^2 + b), start = list(a = 1e-4, b = 5e-3), control = tight)
pure <- lm(y ~ factor(N)); spare <- df.residual(m) - df.residual(pure)
f <- ((deviance(m) - deviance(pure)) / spare) / (deviance(pure) / df.residual(pure))
tell("lu", "lack_of_fit_p", pf(f, spare, df.residual(pure), lower.tail = FALSE))

# Response surface, every trial of the same weight, Mbit/s and ms.
s <- read.csv("surface.csv"); x <- s$streams * s$window_bytes * 8 / 1e3; y <- s$throughput_mbits_per_s
m <- nls(y ~ ((x / rtt)^-p + C^-p)^(-1 / p), start = list(C = 85, rtt = 42, p = 2.5), control = tight)
for (p in names(coef(m))) tell("surface", p, coef(m)[[p]])
tell("surface", "rss", deviance(m))

# CPU lines; HC2 and the degrees of freedom of Bell and McCaffrey by their definitions: base R has no sandwich.
t <- read.csv("trials.csv"); x <- t$throughput_gbits_per_s; y <- t$cpu_percent; n <- length(y)
line <- function(case, X) {
  m <- lm(y ~ 0 + X); h <- hatvalues(m); bread <- solve(t(X) %*% X)
  v <- bread %*% t(X) %*% diag(resid(m)^2 / (1 - h)) %*% X %*% bread; left <- diag(n) - X %*% bread %*% t(X)
  freedom <- apply(X %*% bread, 2, function(a) {
    A <- left %*% diag(a^2 / (1 - h)) %*% left; sum(diag(A))^2 / sum(diag(A %*% A)) })
  reach <- qt(0.975, freedom) * sqrt(diag(v)); last <- ncol(X)
  tell(case, "slope", coef(m)[[last]])
  tell(case, "slope_low", coef(m)[[last]] - reach[last]); tell(case, "slope_high", coef(m)[[last]] + reach[last])
  if (last == 2) {
    tell(case, "intercept", coef(m)[[1]])
    tell(case, "intercept_low", coef(m)[[1]] - reach[1]); tell(case, "intercept_high", coef(m)[[1]] + reach[1])
  }
}
line("cpu-intercept", cbind(1, x)); tell("cpu-intercept", "r2", summary(lm(y ~ x))$r.squared)
line("cpu-origin", cbind(x)); tell("cpu-origin", "r2", summary(lm(y ~ 0 + x))$r.squared)

# Two lines that meet, dRTT over throughput.
y <- t$drtt_ms
two <- function(at) deviance(lm(y ~ x + pmax(0, x - at)))
ats <- seq(1.5, 8, by = 0.01); near <- ats[which.min(sapply(ats, two))]
at <- optimize(two, c(near - 0.05, near + 0.05), tol = 1e-10)$minimum
m <- lm(y ~ x + pmax(0, x - at)); tell("break", "at", at)
tell("break", "before", coef(m)[[2]]); tell("break", "after", coef(m)[[2]] + coef(m)[[3]])

# Message cost of the published internode table, TCP: weights 1 / fitted^2 until they settle, then Fieller.
r <- read.csv("../../../pathlab/reference/ibm-streams-3.0-internode.csv")
m_bytes <- r$message_bytes; ns <- m_bytes * 8 / r$tcp_gbps; w <- 1 / ns^2
for (i in 1:200) { m <- lm(ns ~ m_bytes, weights = w); w <- 1 / fitted(m)^2 }
X <- cbind(1, m_bytes); bread <- solve(t(X) %*% (w * X)); e <- w * resid(m) / (1 - hatvalues(m))
v <- bread %*% t(X) %*% diag(e^2) %*% X %*% bread
a <- coef(m)[[1]]; b <- coef(m)[[2]]; q <- qt(0.975, length(ns) - 2)
tell("message", "a_ns", a); tell("message", "r_bits_per_s", 8e9 / b); tell("message", "half_bytes", a / b)
tell("message", "a_low", a - q * sqrt(v[1, 1])); tell("message", "r_low", 8e9 / (b + q * sqrt(v[2, 2])))
roots <- Re(polyroot(c(a^2 - q^2 * v[1, 1], -2 * (a * b - q^2 * v[1, 2]), b^2 - q^2 * v[2, 2])))
tell("message", "half_low", min(roots)); tell("message", "half_high", max(roots))

# Distributions of the CPU % column.
y <- t$cpu_percent; n <- length(y); mle <- sqrt(mean((y - mean(y))^2))
laws <- function(case, loglik, p, cdf) {
  tell(case, "aic", 2 * p - 2 * loglik)
  tell(case, "ks", suppressWarnings(ks.test(y, cdf)$statistic[[1]]))
}
laws("normal", sum(dnorm(y, mean(y), mle, log = TRUE)), 2, function(q) pnorm(q, mean(y), mle))
ci <- t.test(y)$conf.int; tell("normal", "mean_low", ci[1]); tell("normal", "mean_high", ci[2])
tell("normal", "sd_low", sqrt((n - 1) * var(y) / qchisq(0.975, n - 1)))
laws("exponential", sum(dexp(y, 1 / mean(y), log = TRUE)), 1, function(q) pexp(q, 1 / mean(y)))
tell("exponential", "mean_low", 2 * n * mean(y) / qchisq(0.975, 2 * n))
l <- log(y); sd_log <- sqrt(mean((l - mean(l))^2))
laws("log-normal", sum(dlnorm(y, mean(l), sd_log, log = TRUE)), 2, function(q) plnorm(q, mean(l), sd_log))
minus <- function(k) -sum(dweibull(y, k, mean(y^k)^(1 / k), log = TRUE))
k <- optimize(minus, c(0.1, 20), tol = 1e-10)$minimum; scale <- mean(y^k)^(1 / k)
tell("weibull", "shape", k); tell("weibull", "scale", scale)
laws("weibull", -minus(k), 2, function(q) pweibull(q, k, scale))

# Frequencies and cumulative shares of dRTT in bins of 3 ms.
y <- t$drtt_ms; edges <- seq(0, 21, by = 3)
counts <- hist(y[y >= 0 & y <= 21], breaks = edges, right = FALSE, plot = FALSE)$counts
middle <- edges[-1] - 1.5
m <- glm(counts ~ middle + offset(rep(log(3), 7)), family = poisson)
ci <- suppressMessages(confint.default(m))[2, ]
tell("frequency", "scale", -1 / coef(m)[[2]]); tell("frequency", "density", exp(coef(m)[[1]]))
tell("frequency", "low", -1 / ci[[1]]); tell("frequency", "high", -1 / ci[[2]])
m <- lm(sapply(edges[-1], function(e) mean(y <= e)) ~ log(edges[-1]))
tell("cumulative", "slope", coef(m)[[2]]); tell("cumulative", "offset", coef(m)[[1]])
tell("cumulative", "r2", summary(m)$r.squared)
