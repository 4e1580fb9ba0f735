# Rmpi's own demonstration: all ranks but the first add up parts of pi.
demo("simplePI", package = "Rmpi", echo = FALSE, ask = FALSE)
for (n in c(10, 1000, 100000)) print(simple.pi(n), digits = 15)
mpi.close.Rslaves(dellog = FALSE)
mpi.quit()
