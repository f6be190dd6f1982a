package protocol

import (
	"strconv"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// Progress is how far one request is, as whoever made it has heard. The zero value is that of one of which nothing was heard. Its methods
// are safe for several goroutines.
type Progress struct{ last atomic.Pointer[float64] }

// optional are the members of the params that may be absent, and the kind of each.
var optional = map[string]jsontext.Kind{"total": '0', "message": '"'}

// Next is the params of notifications/progress as they may be passed on, and whether they may be at all: what is reported must increase,
// and is a number (2025-11-25 §basic/utilities/progress). A member of another type than its own is left out.
func (p *Progress) Next(params jsontext.Value) (jsontext.Value, bool) {
	v, _ := splice.Get(params, "progress")
	n, err := strconv.ParseFloat(string(v), 64)
	if last := p.last.Load(); err != nil || last != nil && n <= *last {
		return nil, false
	}
	p.last.Store(&n)
	for name, kind := range optional {
		if m, ok := splice.Get(params, name); ok && m.Kind() != kind {
			params = splice.Without(params, name)
		}
	}
	return params, true
}
