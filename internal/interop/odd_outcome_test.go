package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"mcpd/gateway/catalog"
)

// oddOutcome is the outcome of an ask, as the client reports it to its user.
type oddOutcome struct {
	Result  json.RawMessage // the result as the client decoded it, in canonical form
	Code    int64           // of the server's error; 0 for none
	Message string          // of the server's error
	Failed  string          // reason for neither: the client rejected the answer, or got none
}

// canonical returns JSON with sorted members.
func canonical(text []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return text
	}
	out, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return out
}

// oddKeys are the members of list results, each with the member that names an item.
var oddKeys = []struct{ list, key string }{
	{"tools", "name"}, {"prompts", "name"}, {"resources", "uri"}, {"resourceTemplates", "uriTemplate"},
}

// String returns the outcome for the page and for oddAsk: the names of a list, the texts of a
// result, or the failure.
func (o oddOutcome) String() string {
	switch {
	case o.Failed != "":
		return o.Failed
	case o.Code != 0:
		return fmt.Sprintf("error %d: %s", o.Code, o.Message)
	}
	var result map[string]json.RawMessage
	if json.Unmarshal(o.Result, &result) != nil {
		return shortened(string(o.Result))
	}
	for _, k := range oddKeys {
		if list, ok := result[k.list]; ok {
			return listed(list, k.key)
		}
	}
	var texts struct {
		Content, Contents []struct{ Text string }
		Messages          []struct{ Content struct{ Text string } }
		IsError           bool
		StructuredContent json.RawMessage
	}
	if json.Unmarshal(o.Result, &texts) != nil {
		return shortened(string(o.Result))
	}
	var all []string
	for _, c := range slices.Concat(texts.Content, texts.Contents) {
		all = append(all, c.Text)
	}
	for _, m := range texts.Messages {
		all = append(all, m.Content.Text)
	}
	if len(all) == 0 || texts.StructuredContent != nil {
		return shortened(string(o.Result))
	}
	said := fmt.Sprintf("%q", shortened(strings.Join(all, "|")))
	if texts.IsError {
		said = "isError " + said
	}
	return said
}

// listed returns the names in a list.
func listed(list json.RawMessage, key string) string {
	var items []map[string]any
	if json.Unmarshal(list, &items) != nil {
		return shortened(string(list))
	}
	names := make([]string, 0, len(items))
	for _, item := range items {
		names = append(names, fmt.Sprint(item[key]))
	}
	if len(names) == 0 {
		return "nothing"
	}
	return strings.Join(names, ", ")
}

func shortened(s string) string {
	if len(s) > 120 {
		return catalog.Ellipsis(s, 120)
	}
	return s
}

// starting reports whether an aggregated list lacks servers that this client's request has just
// started.
func (o oddOutcome) starting() bool {
	return bytes.Contains(o.Result, []byte("it has not listed anything yet"))
}

// own reduces an outcome of the aggregate to one server. It removes the other servers' items and
// reports of missing items, and restores the server's own names.
func (o oddOutcome) own(server string) oddOutcome {
	var result map[string]any
	if o.Result == nil || json.Unmarshal(o.Result, &result) != nil {
		return o
	}
	for _, k := range oddKeys {
		if items, ok := result[k.list].([]any); ok {
			result[k.list] = slices.DeleteFunc(items, func(item any) bool {
				return !owns(server, item, k.key)
			})
		}
	}
	if meta, ok := result["_meta"].(map[string]any); ok {
		if lacks, ok := meta[catalog.MetaIncomplete].(map[string]any); ok {
			delete(meta, catalog.MetaIncomplete)
			if why, ok := lacks[server]; ok {
				meta[catalog.MetaIncomplete] = map[string]any{server: why}
			}
		}
		if len(meta) == 0 {
			delete(result, "_meta")
		}
	}
	text, err := json.Marshal(ownNames(server, result))
	if err != nil {
		return o
	}
	o.Result = text
	return o
}

// unframed removes the members that 2026-07-28 adds to each result.
func (o oddOutcome) unframed() oddOutcome {
	var result map[string]any
	if o.Result == nil || json.Unmarshal(o.Result, &result) != nil {
		return o
	}
	for _, name := range []string{"resultType", "ttlMs", "cacheScope"} {
		delete(result, name)
	}
	if meta, ok := result["_meta"].(map[string]any); ok {
		if delete(meta, "io.modelcontextprotocol/serverInfo"); len(meta) == 0 {
			delete(result, "_meta")
		}
	}
	if text, err := json.Marshal(result); err == nil {
		o.Result = text
	}
	return o
}

// owns reports whether an item of the aggregate belongs to a server. The name of such an item
// begins with the server's name, or its URI contains it.
func owns(server string, item any, key string) bool {
	members, _ := item.(map[string]any)
	name, _ := members[key].(string)
	return strings.HasPrefix(name, server+"__") || strings.Contains(name, "//"+server+"/") ||
		strings.HasPrefix(name, "ui://mcpd/"+server+"/")
}

// ownNames replaces the names of the aggregate by those of one server.
func ownNames(server string, value any) any {
	switch v := value.(type) {
	case string:
		if rest, ok := strings.CutPrefix(v, "ui://mcpd/"+server+"/"); ok {
			return "ui://" + rest
		}
		if rest, ok := strings.CutPrefix(v, "mcpd://"+server+"/"); ok {
			if plain, err := url.PathUnescape(rest); err == nil {
				return plain
			}
		}
		return strings.ReplaceAll(v, server+"__", "")
	case []any:
		for i := range v {
			v[i] = ownNames(server, v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = ownNames(server, v[k])
		}
	}
	return value
}

// worse says why the outcome through mcpd is worse than the direct one. It is empty if the outcome
// is the same or better. If the client itself failed directly, only a missing answer is worse.
func worse(direct, through oddOutcome) string {
	switch {
	case direct.Failed != "":
		if through.Failed == oddNoAnswer && direct.Failed != oddNoAnswer {
			return "no answer"
		}
		return ""
	case through.Failed != "":
		return through.Failed
	case direct.Code != through.Code || direct.Message != through.Message:
		return fmt.Sprintf("%s instead of %s", through, direct)
	case !bytes.Equal(direct.Result, through.Result):
		return fmt.Sprintf("%s instead of %s", through.Result, direct.Result)
	}
	return ""
}

// The ways in which a client itself fails.
const (
	oddNoAnswer  = "no answer"
	oddRejected  = "rejects the answer"
	oddNoSession = "cannot connect"
)
