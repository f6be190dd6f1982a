package supervisor

import (
	"encoding/base64"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/actors/configuration"
	"mcpd/actors/storage"
	"mcpd/actors/task"
	"mcpd/gateway/config"
	"mcpd/gateway/tenant"
	"mcpd/protocol/seal"
	"mcpd/protocol/splice"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
	"mcpd/transport/streamable"
)

// openState opens what survives the host, and takes from it what the host seals with. Without it the host serves all the same.
func (h *host) openState() {
	if h.options.State != "" {
		state, damage, err := store.Open(h.options.State, h.options.Own)
		if damage != nil {
			h.recorder.Emit(telemetry.StateLost{Reason: damage.Error()})
		}
		if err != nil {
			h.recorder.Emit(telemetry.StateNotWritten{Reason: err.Error()})
		} else {
			h.state = state
		}
	}
	h.ring = h.newRing()
	held := 0
	for range h.stored(store.Aside) {
		held++
	}
	h.records = storage.NewRestorer(storage.RestorerOptions{Held: held, Faults: h.faults, Emit: h.recorder.Emit})
}

func (h *host) closeState() error {
	if h.state == nil {
		return nil
	}
	return h.state.Close()
}

// sealSecret names the secret that ids of tasks and states of calls are sealed with.
const sealSecret = "seal"

// newRing seals with the key of this state, so that what clients hold for longer than a host lasts is good for the next.
func (h *host) newRing() *seal.Ring {
	key := seal.Key{ID: "1"}
	if !h.secret(key.Secret[:]) {
		h.options.Simulation.random(key.Secret[:])
		h.keepSecret(key.Secret[:])
	}
	ring, err := seal.NewRing(h.options.Simulation.source(), key)
	if err != nil {
		panic(err) // the key above is one
	}
	return ring
}

// secret reads the secret into key, if there is one.
func (h *host) secret(key []byte) bool {
	if h.state == nil {
		return false
	}
	text, _ := splice.Unquote(h.state.Get(store.Secrets, sealSecret))
	data, err := base64.StdEncoding.DecodeString(text)
	return err == nil && len(data) == len(key) && copy(key, data) == len(key)
}

func (h *host) keepSecret(key []byte) {
	if h.state == nil {
		return
	}
	value := splice.Quote(base64.StdEncoding.EncodeToString(key))
	h.written(h.state.Apply([]store.Change{{Bucket: store.Secrets, Key: sealSecret, Value: value}}))
}

// storage is the row that writes the state, where there is one.
func (h *host) storage() []otp.Child {
	if h.state == nil {
		return nil
	}
	return []otp.Child{actor("storage", 5*second, func() otp.Behaviour {
		return storage.New(storage.Options{Store: h.state, More: h.unsaved, Kept: h.unwritten, Emit: h.recorder.Emit, Faults: h.faults})
	})}
}

// unsaved is what is to be written down of streams.
func (h *host) unsaved() (part []storage.Keep, others bool) {
	saved, others := h.store.Unsaved()
	for _, e := range saved {
		k := storage.Keep{Change: store.Change{Bucket: store.Events, Key: e.Key, Value: e.Value}}
		if s, ok := h.index.Get(streamable.SavedFor(e.Key)); ok { // what is deleted may be of one that is gone
			k.Tenant = s.Endpoint().Tenant
		}
		part = append(part, k)
	}
	return part, others
}

// stored is what is in a bucket.
func (h *host) stored(b store.Bucket) iter.Seq2[string, jsontext.Value] {
	if h.state == nil {
		return func(func(string, jsontext.Value) bool) {}
	}
	return h.state.All(b)
}

// forgetTenants deletes what is stored of tenants that there are not: what their servers listed, and tasks.
func (h *host) forgetTenants() {
	if h.state == nil {
		return
	}
	for _, b := range h.state.Buckets() {
		tenant, ok := store.TenantOf(b)
		if !ok || h.now().tenants[tenant] != nil {
			continue
		}
		for key := range h.state.All(b) {
			_ = h.core("storage").Send(&storage.Keep{Tenant: tenant, Change: store.Change{Bucket: b, Key: key}})
		}
	}
}

// beginsWith finds out whether the configuration is another than that of the host before, and writes down which applies. In safe mode none does.
func (h *host) beginsWith(c *config.Config) {
	if h.state == nil || h.options.Safe != "" {
		return
	}
	was, err := configuration.Stored(h.state.Get)
	if err != nil {
		h.recorder.Emit(telemetry.RecordDropped{Kind: "configuration", Reason: err.Error(), Count: 1})
	}
	a := was.Next(h.clock.Now(), h.now().applied.Digest)
	h.settings.Store(newSettings(c, a))
	if a != was {
		h.written(h.state.Apply([]store.Change{a.Change()}))
	}
}

// written tells of a failure to write.
func (h *host) written(err error) {
	if err != nil {
		h.recorder.Emit(telemetry.StateNotWritten{Reason: err.Error()})
	}
}

// home says which server it is that lives on when this host is killed, and is empty for one that does not.
func (h *host) home(t *tenant.Tenant) func(server string) string {
	return func(name string) string {
		if s, _ := h.current(t)().Server(name); !s.URL.IsZero() {
			return s.Identity()
		}
		return ""
	}
}

func (h *host) taskManagerOptions(t *tenant.Tenant, o *task.Options) task.ManagerOptions {
	return task.ManagerOptions{
		Tasks: o, Pool: func() otp.Ref { return h.at(t, "task_sup") }, Emit: h.recorder.Emit, Records: h.records,
		Stored: func() iter.Seq2[string, jsontext.Value] { return h.stored(store.Tasks(t.Name)) },
		Serves: func(principal, server string) bool {
			return h.now().serves(streamable.Endpoint{Tenant: t.Name, Principal: principal, Server: server})
		},
	}
}

// recordsCheck is what readiness says of stored records that crashed whoever read them.
func (h *host) recordsCheck() admin.Check {
	c := admin.Check{Name: "stored_records", OK: true}
	aside := h.records.Aside()
	if len(aside) == 0 {
		return c
	}
	lines := make([]string, len(aside))
	for i, r := range aside {
		lines[i] = r.Kind + " " + r.Name
		if r.Tenant != "" {
			lines[i] += " of " + r.Tenant
		}
		lines[i] += ", incident " + r.Incident
	}
	c.OK, c.Detail = false, "set aside, because reading them crashed: "+strings.Join(lines, "; ")
	return c
}

// durability is what readiness says of the state. Without it there is service.
func (h *host) durability(tree otp.Node) admin.Check {
	c := admin.Check{Name: "storage", OK: true}
	if h.options.State != "" && h.state == nil {
		c.OK, c.Detail = false, "the state directory cannot be used"
	}
	tree.Walk(func(n otp.Node) bool {
		if s, ok := n.Extra.(storage.Status); ok && s.Failing != "" {
			c.OK, c.Detail = false, "the state cannot be written: "+s.Failing
		}
		return c.OK
	})
	return c
}
