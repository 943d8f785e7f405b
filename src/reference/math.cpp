#include "reference/math.h"

namespace fusec::reference {

namespace {

// M. Giles, "Approximating the erfinv function" (GPU Computing Gems 2): the single-precision polynomials, |relative error| < 4e-7.
double erfinv_estimate(double y) {
  constexpr double kCentre[] = {2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087,
                                -0.00125372503, -0.00417768164, 0.246640727,    1.50140941};
  constexpr double kTail[] = {-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773,
                              -0.0076224613,   0.00943887047,  1.00167406,    2.83297682};
  double w = -std::log((1 - y) * (1 + y));
  const bool tail = w >= 5;
  w = tail ? std::sqrt(w) - 3 : w - 2.5;
  double p = 0;
  for (double c : tail ? kTail : kCentre) p = p * w + c;
  return p * y;
}

}  // namespace

double erfinv(double y) {
  if (!(std::fabs(y) < 1))
    return y == 1 || y == -1 ? y * std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(y) < 1e-8) return y * 0.886226925452758013649083741670572591;  // √π/2; the next term is below y·1e-16
  constexpr double kTwoOverRootPi = 1.128379167095512573896158903121545172;
  const double magnitude = std::fabs(y);
  double x = erfinv_estimate(magnitude);
  // The estimate is good for what f32 can tell from 1; nearer to 1 it takes a few steps more.
  for (int steps = 0; steps < 16; ++steps) {
    // Halley's step. 1 - magnitude is exact above one half, and erfc keeps its relative accuracy there.
    const double error = magnitude < 0.5 ? std::erf(x) - magnitude : (1 - magnitude) - std::erfc(x);
    const double newton = error / (kTwoOverRootPi * std::exp(-x * x));
    const double change = newton / (1 + x * newton);
    x -= change;
    if (std::fabs(change) < 1e-12 * x) break;  // cubic: what is left is far below the last bit
  }
  return std::copysign(x, y);
}

double log_gamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);  // std::lgamma writes a global
}

}  // namespace fusec::reference
