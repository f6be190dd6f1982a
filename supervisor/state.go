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
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/seal"
	"mcpd/store"
	"mcpd/supervisor/otp"
	"mcpd/telemetry"
	"mcpd/telemetry/admin"
	"mcpd/transport/streamable"
)

// openState opens the state that survives the host, and reads the host's sealing key from it.
// Without state the host still serves.
func (h *host) openState() {
	if h.options.State != "" {
		state, damage, err := store.Open(h.options.State, h.options.CheckOwner)
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
	h.records = storage.NewRestorer(storage.RestorerOptions{
		Aside: held, Faults: h.faults, Emit: h.recorder.Emit,
	})
}

func (h *host) closeState() error {
	if h.state == nil {
		return nil
	}
	return h.state.Close()
}

// sealSecret is the name of the secret that seals ids of tasks and states of calls.
const sealSecret = "seal"

// newRing seals with the key in the state, so that sealed values which clients hold are still valid
// at the next host.
func (h *host) newRing() *seal.Ring {
	key := seal.Key{ID: "1"}
	if !h.secret(key.Secret[:]) {
		h.options.Simulation.random(key.Secret[:])
		h.keepSecret(key.Secret[:])
	}
	ring, err := seal.NewRing(h.options.Simulation.source(), key)
	if err != nil {
		panic(err) // the key above is valid
	}
	return ring
}

// secret reads the secret into key, and reports whether there was one.
func (h *host) secret(key []byte) bool {
	if h.state == nil {
		return false
	}
	text, _ := jsonedit.Unquote(h.state.Get(store.Secrets, sealSecret))
	data, err := base64.StdEncoding.DecodeString(text)
	return err == nil && len(data) == len(key) && copy(key, data) == len(key)
}

func (h *host) keepSecret(key []byte) {
	if h.state == nil {
		return
	}
	value := jsonedit.Quote(base64.StdEncoding.EncodeToString(key))
	h.reportWrite(h.state.Apply([]store.Change{
		{Bucket: store.Secrets, Key: sealSecret, Value: value},
	}))
}

// storage returns the row that writes the state, if there is state.
func (h *host) storage() []otp.Child {
	if h.state == nil {
		return nil
	}
	return []otp.Child{actor("storage", 5*second, func() otp.Behaviour {
		return storage.New(storage.Options{
			Store: h.state, More: h.unsaved, Account: h.unwritten, Emit: h.recorder.Emit, Faults: h.faults,
		})
	})}
}

// unsaved returns the parts of streams that are to be stored.
func (h *host) unsaved() (part []storage.Keep, others bool) {
	saved, others := h.store.Unsaved()
	for _, e := range saved {
		k := storage.Keep{Change: store.Change{Bucket: store.Events, Key: e.Key, Value: e.Value}}
		// A deletion may belong to a session that is gone.
		if s, ok := h.index.Get(streamable.SavedFor(e.Key)); ok {
			k.Tenant = s.Endpoint().Tenant
		}
		part = append(part, k)
	}
	return part, others
}

// stored yields the entries of a bucket.
func (h *host) stored(b store.Bucket) iter.Seq2[string, jsontext.Value] {
	if h.state == nil {
		return func(func(string, jsontext.Value) bool) {}
	}
	return h.state.All(b)
}

// forgetTenants deletes what is stored of tenants that do not exist any more: the lists of their
// servers, and tasks.
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
			_ = h.core("storage").Send(&storage.Keep{
				Tenant: tenant, Change: store.Change{Bucket: b, Key: key},
			})
		}
	}
}

// recordConfig checks if the configuration differs from that of the host before, and stores which
// one applies. In safe mode no configuration applies.
func (h *host) recordConfig(c *config.Config) {
	if h.state == nil || h.options.SafeReason != "" {
		return
	}
	was, err := configuration.Stored(h.state.Get)
	if err != nil {
		h.recorder.Emit(telemetry.RecordDropped{Kind: "configuration", Reason: err.Error(), Count: 1})
	}
	a := was.Next(h.clock.Now(), h.now().applied.Digest)
	h.settings.Store(newSettings(c, a))
	if a != was {
		h.reportWrite(h.state.Apply([]store.Change{a.Change()}))
	}
}

// reportWrite reports a failed write.
func (h *host) reportWrite(err error) {
	if err != nil {
		h.recorder.Emit(telemetry.StateNotWritten{Reason: err.Error()})
	}
}

// identityOf identifies a server that survives when this host is killed. It is empty for a server
// that does not.
func (h *host) identityOf(t *tenant.Tenant) func(server string) string {
	return func(name string) string {
		if s, _ := h.current(t)().Server(name); !s.URL.IsZero() {
			return s.Identity()
		}
		return ""
	}
}

func (h *host) taskManagerOptions(t *tenant.Tenant, o *task.Options) task.ManagerOptions {
	return task.ManagerOptions{
		Tasks: o, Pool: func() otp.Ref {
			return h.at(t, "task_sup")
		}, Emit: h.recorder.Emit, Records: h.records,
		Stored: func() iter.Seq2[string, jsontext.Value] { return h.stored(store.Tasks(t.Name)) },
		Serves: func(principal, server string) bool {
			return h.now().serves(streamable.Endpoint{Tenant: t.Name, Principal: principal, Server: server})
		},
	}
}

// recordsCheck is the readiness check of stored records that crashed their reader.
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

// storageCheck is the readiness check of the state. Without state there is still service.
func (h *host) storageCheck(tree otp.Node) admin.Check {
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
