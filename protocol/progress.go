package protocol

import (
	"strconv"
	"sync/atomic"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// Progress remembers, for one request, the last progress value that was passed on to the client.
// The zero value is a request without progress so far. Its methods are safe for concurrent use.
type Progress struct{ last atomic.Pointer[float64] }

// optionalProgressFields are the optional members of the params of notifications/progress, with the
// JSON kind of each.
var optionalProgressFields = map[string]jsontext.Kind{"total": '0', "message": '"'}

// Accept returns the params of a notifications/progress to pass on, and whether to pass the
// notification on at all. The value of progress must be a number and must increase (2025-11-25
// §basic/utilities/progress). Next removes an optional member that has the wrong type.
func (p *Progress) Accept(params jsontext.Value) (jsontext.Value, bool) {
	v, _ := jsonedit.Get(params, "progress")
	n, err := strconv.ParseFloat(string(v), 64)
	if last := p.last.Load(); err != nil || last != nil && n <= *last {
		return nil, false
	}
	p.last.Store(&n)
	for name, kind := range optionalProgressFields {
		if m, ok := jsonedit.Get(params, name); ok && m.Kind() != kind {
			params = jsonedit.Without(params, name)
		}
	}
	return params, true
}
