package admin

import (
	"net/http"
	"runtime"
	"runtime/pprof"
)

// profile serves profiles of the process: goroutine, heap and so on, as package runtime/pprof
// names them and `go tool pprof` reads them. ?debug=1 is for people; it shows functions and
// counts, but no values. ?gc=1 runs a garbage collection first, as net/http/pprof does for heap.
func (h *handler) profile(w http.ResponseWriter, r *http.Request) {
	p := pprof.Lookup(r.PathValue("profile"))
	if p == nil {
		problem(w, http.StatusNotFound, "no such profile",
			"use goroutine, heap, allocs, threadcreate, block or mutex")
		return
	}
	debug, ok := boolParam(w, r, "debug")
	if !ok {
		return
	}
	collect, ok := boolParam(w, r, "gc")
	if !ok {
		return
	}
	if collect {
		runtime.GC()
	}
	level, kind := 0, "application/octet-stream"
	if debug {
		level, kind = 1, "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	_ = p.WriteTo(w, level) // the caller has gone
}
