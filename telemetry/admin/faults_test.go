package admin

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"mcpd/internal/fault"
	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// A test may make an actor of the release binary panic, if the host was started with faults.
func TestFaults(t *testing.T) {
	h := start(t, nil)
	chaos := []string{"Authorization", h.bearer(Chaos), "Content-Type", "application/json"}
	const wanted = `{"action":"panic","path":"mcpd/core/*","kind":"*x.Call","count":2,"lease":"10s"}`

	status, _, answer := h.do(http.MethodPost, "/admin/v1/faults", wanted, chaos...)
	var armed mcpdv1.Fault
	if err := protojson.Unmarshal([]byte(answer), &armed); err != nil || status != 201 {
		t.Fatalf("arming: %d %s, %v", status, answer, err)
	}
	if armed.GetId() == "" || armed.GetAction() != "panic" || armed.GetPath() != "mcpd/core/*" ||
		armed.GetKind() != "*x.Call" || armed.GetCount() != 2 || armed.GetExpires() == nil {
		t.Errorf("armed %s", answer)
	}
	if got := h.faults.Active(); len(got) != 1 || got[0].Lease != 10*time.Second ||
		got[0].ID != armed.GetId() {
		t.Errorf("the registry has %+v", got)
	}
	if _, _, answer := h.do(http.MethodGet, "/admin/v1/faults", "",
		chaos...); !strings.Contains(answer, `"`+armed.GetId()+`"`) {
		t.Errorf("the list is %s", answer)
	}
	if status, _, _ := h.do(http.MethodDelete, "/admin/v1/faults/"+armed.GetId(), "",
		chaos...); status != 204 || len(h.faults.Active()) != 0 {
		t.Errorf("disarming: %d, %d left", status, len(h.faults.Active()))
	}
	if status, _, _ := h.do(http.MethodDelete, "/admin/v1/faults/"+armed.GetId(), "",
		chaos...); status != 404 {
		t.Errorf("disarming twice: %d, want 404", status)
	}
	if status, _, answer := h.do(http.MethodPost, "/admin/v1/faults/"+armed.GetId()+"/renew",
		`{"lease":"10s"}`, chaos...); status != 404 {
		t.Errorf("renewing what is gone: %d %s, want 404", status, answer)
	}
	for range 3 {
		h.do(http.MethodPost, "/admin/v1/faults", wanted, chaos...)
	}
	if status, _, _ := h.do(http.MethodDelete, "/admin/v1/faults", "", chaos...); status != 204 ||
		len(h.faults.Active()) != 0 {
		t.Errorf("disarming all: %d, %d left", status, len(h.faults.Active()))
	}
	h.recorder.Flush()
	var names []string
	records, first, _ := h.recorder.Recent().Since(0)
	for i, r := range records {
		names = append(names, r.Proto(first+uint64(i)).GetName())
	}
	if got := strings.Join(names, " "); got != "fault_armed fault_disarmed"+
		strings.Repeat(" fault_armed", 3)+strings.Repeat(" fault_disarmed", 3) {
		t.Errorf("events: %s", got)
	}
}

// The run that has armed faults renews them, and can end all of its own at once.
func TestFaultsOfARun(t *testing.T) {
	h := start(t, nil)
	chaos := []string{"Authorization", h.bearer(Chaos), "Content-Type", "application/json"}
	for _, run := range []string{"one", "two"} {
		body := `{"action":"slow","place":"upstream.read","tenant":"acme","server":"files","percent":50,"seed":"7","delay":"0.5s","lease":"10s","run":"` + run + `"}`
		if status, _, answer := h.do(http.MethodPost, "/admin/v1/faults", body, chaos...); status != 201 {
			t.Fatalf("%d %s", status, answer)
		}
	}
	want := fault.Fault{
		Action:  fault.Slow,
		Point:   fault.Point{Place: fault.UpstreamRead, Who: fault.Who{Tenant: "acme", Server: "files"}},
		Percent: 50, Seed: 7, Delay: time.Second / 2, Lease: 10 * time.Second, Run: "one",
	}
	if got := h.faults.Active()[0].Fault; got != want {
		t.Errorf("the registry has %+v, want %+v", got, want)
	}
	first := h.faults.Active()[0]
	status, _, answer := h.do(http.MethodPost, "/admin/v1/faults/"+first.ID+"/renew",
		`{"lease":"60s"}`, chaos...)
	if remaining := time.Until(h.faults.Active()[0].Until); status != 200 ||
		remaining < 50*time.Second {
		t.Errorf("renewing: %d %s, %v left", status, answer, remaining)
	}
	if status, _, _ := h.do(http.MethodPost, "/admin/v1/faults/"+first.ID+"/renew",
		`{"lease":"3600s"}`, chaos...); status != 400 {
		t.Errorf("a lease that is too long: %d, want 400", status)
	}
	h.do(http.MethodDelete, "/admin/v1/faults?run=one", "", chaos...)
	if got := h.faults.Active(); len(got) != 1 || got[0].Run != "two" {
		t.Errorf("left: %+v, want that of the other run", got)
	}
	h.faults.DisarmRun("")
}

func TestFaultsThatAreRefused(t *testing.T) {
	h := start(t, nil)
	full := make([]string, 0, fault.MaxArmed)
	tests := []struct {
		name, kind, body string
		want             int
	}{
		{"no lease", "application/json", `{"action":"panic","path":"mcpd/core/x"}`, 400},
		{"lease too long", "application/json",
			`{"action":"panic","path":"mcpd/core/x","lease":"3600s"}`, 400},
		{"no path", "application/json", `{"action":"panic","lease":"1s"}`, 400},
		{"unknown action", "application/json", `{"action":"explode","path":"x","lease":"1s"}`, 400},
		{"unknown key", "application/json",
			`{"action":"panic","path":"x","lease":"1s","tenants":"acme"}`, 400},
		{"duplicate key", "application/json",
			`{"action":"panic","path":"x","path":"y","lease":"1s"}`, 400},
		{"not JSON", "application/json", `panic`, 400},
		{"simple request of a page", "text/plain", `{}`, 415},
		{"no type", "", `{}`, 415},
		{"too large", "application/json; charset=utf-8",
			`{"path":"` + strings.Repeat("x", maxBody) + `"}`, 413},
	}
	for _, test := range tests {
		status, _, answer := h.do(http.MethodPost, "/admin/v1/faults", test.body, "Authorization",
			h.bearer(Chaos), "Content-Type", test.kind)
		if status != test.want || len(h.faults.Active()) != 0 {
			t.Errorf("%s: %d %s, want %d and nothing armed", test.name, status, answer, test.want)
		}
	}
	for range cap(full) {
		id, err := h.faults.Arm(fault.Fault{
			Action: fault.Panic, Point: fault.Point{Path: "x"}, Lease: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		full = append(full, id)
	}
	if status, _, _ := h.do(http.MethodPost, "/admin/v1/faults",
		`{"action":"panic","path":"x","lease":"1s"}`, "Authorization", h.bearer(Chaos), "Content-Type",
		"application/json"); status != 409 {
		t.Errorf("one fault too many: %d, want 409", status)
	}
	for _, id := range full {
		h.faults.Disarm(id)
	}
}

// In production a fault needs an explicit confirmation.
func TestFaultsInProductionAreMeant(t *testing.T) {
	h := start(t, func(o *Options) { o.Production = func() bool { return true } })
	chaos := []string{"Authorization", h.bearer(Chaos), "Content-Type", "application/json"}
	if status, _, answer := h.do(http.MethodPost, "/admin/v1/faults",
		`{"action":"panic","path":"x","lease":"1s"}`,
		chaos...); status != 403 || !strings.Contains(answer, "meant") {
		t.Errorf("%d %s, want 403 and what to say", status, answer)
	}
	if status, _, answer := h.do(http.MethodPost, "/admin/v1/faults",
		`{"action":"panic","path":"x","lease":"1s","meant":true}`, chaos...); status != 201 {
		t.Errorf("%d %s", status, answer)
	}
	h.faults.DisarmRun("")
}

func TestFaultsNeedAHostThatWasStartedForThem(t *testing.T) {
	h := start(t, func(o *Options) { o.Faults = nil })
	if status, _, answer := h.do(http.MethodPost, "/admin/v1/faults", `{}`, "Authorization",
		h.bearer(Chaos)); status != 403 || !strings.Contains(answer, "--chaos") {
		t.Errorf("%d %s, want 403 and what to do", status, answer)
	}
}
