package soak

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcpd/internal/mcptest"
	"mcpd/telemetry/admin"
	"mcpd/transport/stdio/guard"
)

// stateSize is the size of the file system with the state. One kind of event fills it.
const stateSize = "64m"

// rig is the host, its servers and its configuration.
type rig struct {
	*mcptest.Host
	t       *testing.T
	servers []*running
	file    string // the configuration file
	runtime string // the folder of the admin tokens
	state   string
	full    bool // the state is on a file system that can be filled
	log     *log

	reconfigure sync.Mutex // guards the generations and the file
	generations map[*running]int
}

// tenants are the tenants of the full form. The short form has the first shortTenants of them.
var tenants = []string{"acme", "globex", "initech", "umbrella"}

const shortTenants = 2

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{
		t: t, file: filepath.Join(dir, "mcpd.yaml"), runtime: t.TempDir(),
		state: filepath.Join(dir, "state"), log: &log{}, generations: map[*running]int{},
	}
	if err := os.Mkdir(r.state, 0o700); err != nil {
		t.Fatal(err)
	}
	if *full {
		// A full disk needs a file system of its own, and only a privileged user may mount one.
		err := syscall.Mount("none", r.state, "tmpfs", 0, "mode=0700,size="+stateSize)
		if r.full = err == nil; r.full {
			t.Cleanup(func() {
				if err := syscall.Unmount(r.state, 0); err != nil {
					t.Error(err)
				}
			})
		} else {
			t.Logf("no event fills the disk: %v", err)
		}
	}
	for _, tenant := range r.tenants() {
		for _, s := range services() {
			r.servers = append(r.servers, prepare(t, s, tenant))
		}
	}
	r.configure()
	r.launch()
	return r
}

func (r *rig) tenants() []string {
	if *full {
		return tenants
	}
	return tenants[:shortTenants]
}

// keyOf returns the key with which clients of a tenant authenticate, or "". Every second tenant
// has keys, the others have none.
func keyOf(tenant string) string {
	if slices.Index(tenants, tenant)%2 == 0 {
		return ""
	}
	return "soak-key-of-" + tenant
}

// site returns what events can hit.
func (r *rig) site() site {
	on := site{tenants: r.tenants()}
	for _, s := range services() {
		if s.remote {
			on.remotes = append(on.remotes, s.name)
		} else {
			on.programs = append(on.programs, s.name)
		}
	}
	return on
}

func (r *rig) find(tenant, server string) *running {
	for _, s := range r.servers {
		if s.tenant == tenant && s.name == server {
			return s
		}
	}
	r.t.Fatalf("there is no %s/%s", tenant, server)
	return nil
}

// configure writes the configuration. Sessions end soon after their clients are gone, so that
// leftovers show within the quiet period.
func (r *rig) configure() {
	r.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "limits: {call_timeout: %v, session_idle: 60s}\ntenants:\n", size().callTimeout)
	for _, tenant := range r.tenants() {
		fmt.Fprintf(&b, "  %s:\n", tenant)
		if key := keyOf(tenant); key != "" {
			fmt.Fprintf(&b, "    auth: {keys: [{name: soak, sha256: %x}]}\n", sha256.Sum256([]byte(key)))
		}
		b.WriteString("    servers:\n")
		for _, s := range r.servers {
			if s.tenant == tenant {
				fmt.Fprintf(&b, "      %s: %s\n", s.name, s.declared(r.generations[s]))
			}
		}
	}
	next := r.file + ".new"
	err := os.WriteFile(next, []byte(b.String()), 0o600)
	if err == nil {
		err = os.Rename(next, r.file)
	}
	if err != nil {
		r.t.Error(err)
	}
}

// launch starts the host, at its earlier address if it ran before.
func (r *rig) launch() {
	args := []string{"--config", r.file}
	if r.Host != nil {
		args = append(args, "--listen", strings.TrimPrefix(r.MCP, "http://"))
	}
	r.Host = mcptest.Start(r.t, mcptest.HostOptions{
		State: r.state, Args: args, Env: []string{"XDG_RUNTIME_DIR=" + r.runtime}, Line: r.log.add,
	})
}

// admin makes a request to the admin listener over a connection of its own. The connection is
// closed afterwards, so it is not counted as held.
func (r *rig) admin(method, path string) (string, error) {
	token, err := admin.ReadToken(filepath.Join(r.runtime, "mcpd"),
		strings.TrimPrefix(r.Admin, "http://"), admin.Write)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, r.Admin+path, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		return "", fmt.Errorf("%s: %d %s, %v", path, answer.StatusCode, text, err)
	}
	return string(text), nil
}

// signalServer sends a signal to one process of a server that the host runs. It returns a function
// that sends another signal to the same process. If there is no process, both do nothing.
func (r *rig) signalServer(s *running, which syscall.Signal) (again func(syscall.Signal)) {
	mark := []byte(s.mark())
	look := guard.Look{Mark: func(entry []byte) bool { return bytes.Equal(entry, mark) }}
	all := look.Signal(guard.All(), 0)
	if len(all) == 0 {
		return func(syscall.Signal) {}
	}
	one := []int{slices.Min(all)}
	look.Signal(one, which)
	return func(which syscall.Signal) { look.Signal(one, which) }
}
