package capability

import (
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/internal/mend"
	"mcpd/supervisor/otp"
)

// repair makes what a crashed incarnation left sound again. Servers declare again when they are connected to anew.
func (k *kept) repair() []otp.Dropped {
	mend.Map(&k.declared)
	mend.Map(&k.experimental)
	mend.Map(&k.subscribers)
	var lost mend.Losses
	maps.DeleteFunc(k.declared, func(of DiscoverRequest, caps jsontext.Value) bool {
		return lost.If(of == (DiscoverRequest{}) || !object(caps), "declaration", "unsound")
	})
	maps.DeleteFunc(k.experimental, func(name string, settings jsontext.Value) bool {
		return lost.If(name == "" || !object(settings), "experimental feature", "unsound")
	})
	maps.DeleteFunc(k.subscribers, func(ref otp.Ref, _ bool) bool { return lost.If(ref.IsZero(), "subscriber", "nobody") })
	left := k.known
	k.known = known()
	for name, info := range k.known { // nothing changes of one but whether it is enabled
		if was := left[name]; !lost.If(was.Name != name, "capability", "missing") {
			info.Enabled = was.Enabled
			k.known[name] = info
		}
	}
	return lost
}

func object(v jsontext.Value) bool { return v.Kind() == '{' && v.IsValid() }
