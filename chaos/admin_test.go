package chaos

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	mcpdv1 "mcpd/proto/gen/mcpd/v1"
)

// ask makes one request of the admin API and returns the body of the response.
func (a *arena) ask(method, path, body string) string {
	a.t.Helper()
	return a.askAs(a.token, method, path, body)
}

// operates applies an operator's command to a tenant, waits until it is done, and returns the
// tenant's state.
func (a *arena) operates(tenant, verb string) (state string) {
	a.t.Helper()
	a.askAs(a.write, http.MethodPost, "/admin/v1/tenants/"+tenant+"/"+verb, "")
	a.eventually(verb+" of "+tenant, func() bool {
		var all mcpdv1.TenantList
		if err := protojson.Unmarshal([]byte(a.ask(http.MethodGet, "/admin/v1/tenants", "")),
			&all); err != nil {
			a.t.Fatal(err)
		}
		for _, t := range all.GetTenants() {
			if t.GetName() == tenant {
				state = t.GetState()
			}
		}
		return state != "stopping" && state != "starting"
	})
	return state
}

// greets sends initialize to a tenant's aggregate endpoint with a key, and returns the answer.
func (a *arena) greets(tenant, key string) (status int, header http.Header, body string) {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, a.url(tenant),
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`+legacyMeta+`}}`))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	answer, err := a.admin.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return answer.StatusCode, answer.Header, string(text)
}

// stranger returns a tenant's answer to a client with a wrong key, without the date.
func (a *arena) stranger(tenant string) string {
	a.t.Helper()
	status, header, body := a.greets(tenant, "wrong")
	header.Del("Date")
	return fmt.Sprint(status, header, body)
}

func (a *arena) askAs(token, method, path, body string) string {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.Admin+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := a.admin.Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= 300 {
		a.t.Fatalf("%s %s: %d %s, %v", method, path, answer.StatusCode, text, err)
	}
	return string(text)
}

// panics arms the fault point so that the next messages of a kind at a path crash their actor, that
// many times.
func (a *arena) panics(path, kind string, times int) {
	a.t.Helper()
	a.ask(http.MethodPost, "/admin/v1/faults",
		fmt.Sprintf(`{"action":"panic","path":%q,"kind":%q,"count":%d,"lease":"60s"}`, path, kind, times))
}

// struck waits until every fault has struck as often as it should. An armed fault is in the list; a
// fault that is used up is not.
func (a *arena) struck() {
	a.t.Helper()
	a.eventually("struck: "+a.ask(http.MethodGet, "/admin/v1/faults", ""), func() bool {
		return !strings.Contains(a.ask(http.MethodGet, "/admin/v1/faults", ""), `"id"`)
	})
}

// rows returns the live tree by path.
func (a *arena) rows() rows {
	a.t.Helper()
	return parseTree(a, a.ask(http.MethodGet, "/admin/v1/tree?all=1", ""))
}

func parseTree(a *arena, text string) rows {
	a.t.Helper()
	var root mcpdv1.Node
	if err := protojson.Unmarshal([]byte(text), &root); err != nil {
		a.t.Fatalf("tree: %v in %s", err, text)
	}
	found := rows{}
	found.add(&root)
	return found
}

// rows is a tree by path.
type rows map[string]*mcpdv1.Node

func (r rows) add(n *mcpdv1.Node) {
	r[n.GetPath()] = n
	for _, c := range n.GetChildren() {
		r.add(c)
	}
}

// connection returns the connection to a server that is used for clients without capabilities.
func (r rows) connection(tenant, server string) *mcpdv1.Node {
	for path, n := range r {
		if n.GetServer() == server && n.GetType() == "worker" && !strings.Contains(path, ",caps=") &&
			strings.HasPrefix(path, "mcpd/tenants/"+tenant+"/client_sup/") {
			return n
		}
	}
	return nil
}

// restarted returns the rows that have more restarts than before, with the difference.
func (r rows) restarted(before rows) map[string]uint32 {
	found := map[string]uint32{}
	for path, n := range r {
		if more := n.GetRestarts() - before[path].GetRestarts(); more > 0 {
			found[path] = more
		}
	}
	return found
}

// metric sums the samples of a metric whose labels contain all the given texts.
func (a *arena) metric(name string, labels ...string) float64 {
	a.t.Helper()
	return sum(a, a.ask(http.MethodGet, "/metrics", ""), name, labels...)
}

// sum sums the samples of a metric in a scrape.
func sum(a *arena, scrape, name string, labels ...string) float64 {
	a.t.Helper()
	sum := 0.0
lines:
	for line := range strings.Lines(scrape) {
		sample, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || sample != name && !strings.HasPrefix(sample, name+"{") {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(sample, l) {
				continue lines
			}
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			a.t.Fatalf("metric %s: %v", sample, err)
		}
		sum += v
	}
	return sum
}
