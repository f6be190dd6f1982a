package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"mcpd/actors/client"
	"mcpd/actors/internal/testrig"
	"mcpd/internal/mcptest"
	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
	"mcpd/telemetry"
	"mcpd/transport"
	"mcpd/transport/stdio"
)

// F17: a program that does not exist is not started again. Callers are told that a repeat is no
// use.
func TestPermanentCauseIsNotTriedAgain(t *testing.T) {
	for _, cause := range []string{stdio.CauseNotFound, stdio.CausePermission, stdio.CauseFormat} {
		t.Run(cause, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				r.dials <- dial{err: &transport.ExitError{Cause: cause, Code: -1}}
				r.WaitIdle()
				if ref, there := r.System.Whereis("top/conn"); there && ref.Alive() {
					t.Error("it was started again")
				}
				if got := r.report(); got.State != client.Quarantined || !client.EndingOf(got.Cause).Permanent {
					t.Errorf("reported %s, %v", got.State, got.Cause)
				}
				data := client.LostError("files", "", false, r.report().Cause).Data
				if again, _ := jsonedit.Get(data, "retryable"); string(again) != "false" {
					t.Errorf("a caller is told %s", data)
				}
			})
		})
	}
}

// An ending reads the same after it was stored.
func TestEndingOutlivesTheHost(t *testing.T) {
	exit := &transport.ExitError{Cause: stdio.CauseHandshake, Code: 3, Stderr: []byte("no licence\n")}
	end := client.EndingOf(exit)
	if end.Permanent || end.Stderr != "no licence" || !errors.Is(end, exit) {
		t.Errorf("got %+v", end)
	}
	end = end.Again()
	end.Incident = "abcdefgh"
	text, err := json.Marshal(end)
	if err != nil {
		t.Fatal(err)
	}
	var read *client.Ending
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	a, b := client.LostError("files", "", false, end), client.LostError("files", "", false, read)
	if a.Message != b.Message || string(a.Data) != string(b.Data) ||
		!strings.Contains(string(a.Data), `"retryable":false`) {
		t.Errorf("before %s %s, after %s %s", a.Message, a.Data, b.Message, b.Data)
	}
}

// Every error that the end of a server causes has the incident id of the log, the same for all of
// them.
func TestIncidentIsInTheLogAndInEachAnswer(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		one, two := r.call("one"), r.call("two")
		p.Expect("tools/call")
		p.Expect("tools/call")
		p.Close(&transport.ExitError{Cause: stdio.CauseSignal, Signal: "SIGKILL"})
		r.WaitIdle()
		exited := testrig.Of[telemetry.UpstreamExited](&r.Events)
		if len(exited) != 1 || len(exited[0].Incident) != 8 || exited[0].Class != client.Transient {
			t.Fatalf("told %+v", exited)
		}
		for _, x := range []uint64{one.ID, two.ID} {
			for _, c := range r.outcomes() {
				if c.ID != x {
					continue
				}
				data := protocol.Translate(c.Err, protocol.V20251125).Data
				if id, _ := jsonedit.GetString(data, "incident"); id != exited[0].Incident {
					t.Errorf("call %d is told %s, want incident %s", x, data, exited[0].Incident)
				}
			}
		}
	})
}

// The calls of a connection that crashes get the incident of the crash report.
func TestIncidentOfACrashedConnection(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.ready(`{"tools":{}}`)
		x := r.call("one")
		p.Expect("tools/call")
		r.Break("conn", "client.Describe")
		r.send(client.Describe{})
		r.Struck()
		exited := testrig.Of[telemetry.UpstreamExited](&r.Events)
		data := protocol.Translate(r.outcome(x).Err, protocol.V20251125).Data
		if id, _ := jsonedit.GetString(data, "incident"); len(exited) != 1 || id == "" ||
			id != exited[0].Incident {
			t.Errorf("told %+v, the call %s", exited, data)
		}
	})
}

// A ready connection that could not fetch a list says so, until it has the list.
func TestReadyConnectionSaysWhatItLacks(t *testing.T) {
	run(t, nil, func(r *rig) {
		p := r.server()
		p.Handshake(`{"tools":{}}`)
		p.Refuse(p.Expect("tools/list"), -32603, "out of order")
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready || !strings.Contains(got.Lacks, "tools/list: ") ||
			!strings.Contains(got.Lacks, "out of order") {
			t.Errorf("reported %s without %q", got.State, got.Lacks)
		}
		p.Reply(p.Expect("tools/list"), `{"tools":[]}`)
		r.WaitIdle()
		if got := r.report(); got.State != client.Ready || got.Lacks != "" {
			t.Errorf("then %s without %q", got.State, got.Lacks)
		}
	})
}

// A program that ends during its handshake is reported in the same words, whether it had read the
// handshake or not.
func TestEndDuringTheHandshakeHasOneText(t *testing.T) {
	for name, end := range map[string]func(p *mcptest.Peer, m jsonrpc.Message, exit error){
		"read":     func(p *mcptest.Peer, _ jsonrpc.Message, exit error) { p.Close(exit) },
		"not read": func(p *mcptest.Peer, m jsonrpc.Message, exit error) { p.Send(failure(m, exit)) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, func(r *rig) {
				p := r.server()
				exit := &transport.ExitError{Cause: stdio.CauseHandshake, Code: 3}
				end(p, p.Expect("initialize"), exit)
				r.WaitIdle()
				reports := slices.DeleteFunc(r.reports(), func(p *client.Report) bool { return p.Cause == nil })
				if len(reports) == 0 || client.EndingOf(reports[0].Cause).Text != exit.Error() {
					t.Errorf("%+v, want %q", reports, exit)
				}
			})
		})
	}
}
