package sim

import (
	"context"
	"runtime"
	"sync"
)

// Each runs n seeds from the first on all processors, and passes each result to done, one at a
// time. It ends early with ctx.
func Each(ctx context.Context, first, n uint64, done func(Result)) {
	seeds, results := make(chan uint64), make(chan Result)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for seed := range seeds {
				results <- Run(seed, Options{})
			}
		})
	}
	go func() { // owner: the loop below, which ends when results is closed
		defer close(results)
		defer all.Wait()
		defer close(seeds)
		for i := uint64(0); i < n && ctx.Err() == nil; i++ {
			seeds <- first + i
		}
	}()
	for r := range results {
		done(r)
	}
}
