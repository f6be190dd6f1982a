package layers

// rule is a rule of the layers of docs/ARCHITECTURE.md. A package may import the packages in the
// list of its own row, and no other package of this module. A row of the form "folder/..." also
// lets a package import the packages below it.
type rule struct {
	pkg     string   // "a/b" is that package, "a/b/..." is it and all below it
	allowed []string // the same form
	reason  string   // shown when the rule is broken
}

var (
	layer0 = []string{
		"internal/fault", "internal/clock", "internal/highwater", "internal/sortedmap",
		"internal/regular",
	}
	layer1 = join(layer0, "protocol/...", "supervisor/otp", "proto/gen/...")
	layer2 = join(layer1, "gateway/...", "transport/...", "telemetry/...", "store/...")
	layer3 = join(layer2, "actors/...")
	layer5 = join(layer3, "supervisor/...")
	load   = join(layer5, "internal/load/...")
)

// moduleRules has a row for each package of this module, lowest layer first. The first row that
// matches a package applies.
var moduleRules = []rule{
	// 0
	{"internal/clock", nil, "layer 0 uses the standard library only"},
	{"internal/highwater", nil, "layer 0 uses the standard library only"},
	{"internal/sortedmap", nil, "layer 0 uses the standard library only"},
	{"internal/regular", nil, "layer 0 uses the standard library only"},
	{"internal/chart", nil, "layer 0 uses the standard library only"},
	{"internal/fault", []string{"internal/clock"}, "layer 0 uses the standard library only"},
	// 1
	{"protocol/jsonrpc", nil, "the envelope knows no MCP"},
	{"protocol/jsonedit", []string{"protocol/jsonrpc"}, "edits of raw JSON know no MCP"},
	{"protocol", []string{"protocol/jsonrpc", "protocol/jsonedit"},
		"revisions stand below what happens in them"},
	{"protocol/held", []string{"protocol", "protocol/jsonrpc", "protocol/jsonedit", "protocol/mrtr"},
		"a round trip is read and written by mrtr; sealing is for the shell"},
	{"protocol/rounds", []string{"protocol", "protocol/jsonrpc", "protocol/jsonedit", "protocol/mrtr"},
		"a round trip is read and written by mrtr"},
	{"protocol/tasks", []string{"protocol", "protocol/jsonrpc", "protocol/jsonedit", "protocol/mrtr",
		"protocol/rewrite"}, "a task says the same in two revisions"},
	{"protocol/...", []string{"protocol", "protocol/jsonrpc", "protocol/jsonedit"},
		"the state machines do not know one another"},
	{"supervisor/otp/...", layer0, "otp knows nothing of MCP"},
	{"proto/gen/...", nil, "generated code imports its runtime only"},
	// 2
	{"gateway/...", join(layer1, "gateway/..."), "packages of layer 2 never import one another"},
	{"transport/...", join(layer1, "transport/..."), "packages of layer 2 never import one another"},
	{"telemetry/...", join(layer1, "telemetry/..."), "packages of layer 2 never import one another"},
	{"store/...", join(layer1, "store/..."), "packages of layer 2 never import one another"},
	// 3: actors import one another's messages downward only, so that answers travel by reference and
	// no import points up.
	{"actors/server/...", join(layer2, "actors/storage", "actors/catalog", "actors/client",
		"actors/held", "actors/task", "actors/request", "actors/notification", "actors/session",
		"actors/version", "actors/capability"), "actors import one another downward only"},
	{"actors/tenancy/...", join(layer2, "actors/storage"), "actors import one another downward only"},
	{"actors/configuration/...", join(layer2, "actors/storage", "actors/catalog", "actors/session"),
		"actors import one another downward only"},
	{"actors/task/...", join(layer2, "actors/storage", "actors/catalog", "actors/client",
		"actors/request"), "actors import one another downward only"},
	{"actors/held/...", join(layer2, "actors/client", "actors/request", "actors/session"),
		"actors import one another downward only"},
	{"actors/catalog/internal/...", join(layer0, "protocol/...", "gateway/...", "actors/client"),
		"a part of the catalogue knows no process, and not the catalogue"},
	{"actors/catalog/...", join(layer2, "actors/internal/drops", "actors/storage", "actors/client",
		"actors/request", "actors/notification", "actors/process", "actors/version",
		"actors/capability"), "actors import one another downward only"},
	{"actors/client/internal/interest", join(layer2, "actors/request"),
		"what sessions want is carried, with the calls that wait for it"},
	{"actors/client/internal/instances",
		join(layer2, "actors/request", "actors/client/internal/questions"),
		"what instances have in hand, and ask their users, is carried"},
	{"actors/client/internal/...",
		join(layer0, "protocol/...", "gateway/...", "transport/...", "telemetry/..."),
		"a part of a connection knows no process, and not the connection"},
	{"actors/client/...", join(layer2, "actors/internal/drops", "actors/request",
		"actors/notification", "actors/process", "actors/version",
		"actors/capability"), "actors import one another downward only"},
	{"actors/request/...", join(layer2, "actors/internal/drops", "actors/version",
		"actors/capability"), "actors import one another downward only"},
	{"actors/notification/...",
		join(layer2, "actors/internal/drops", "actors/version", "actors/capability"),
		"actors import one another downward only"},
	{"actors/session/...", join(layer2, "actors/storage", "actors/request", "actors/notification",
		"actors/version", "actors/capability"), "actors import one another downward only"},
	{"actors/...", join(layer2), "actors import one another downward only"},
	// 4, 5
	{"supervisor/...", layer3, "the wiring imports what it wires, nothing above it"},
	// 5½
	{"internal/load/...", layer5, "one load generator below bench, chaos and tests"},
	// 6
	{"internal/layers", nil, "the table of layers must not depend on one"},
	{"internal/mcptest/...", load, "layer 6 packages do not import one another"},
	{"internal/conformance/...", load, "layer 6 packages do not import one another"},
	{"internal/interop/...", load, "layer 6 packages do not import one another"},
	{"internal/oddclients/...", load, "layer 6 packages do not import one another"},
	{"internal/proxies/...", load, "layer 6 packages do not import one another"},
	{"internal/parity/...", load, "layer 6 packages do not import one another"},
	{"internal/endings/...", load, "layer 6 packages do not import one another"},
	{"internal/scale/...", load, "layer 6 packages do not import one another"},
	{"internal/resilience/...", load, "layer 6 packages do not import one another"},
	{"internal/soak/...", load, "layer 6 packages do not import one another"},
	{"internal/features/...", load, "layer 6 packages do not import one another"},
	{"bench/...", join(load, "internal/chart", "bench/..."),
		"layer 6 packages do not import one another"},
	{"chaos/...", join(load, "internal/chart", "chaos/..."),
		"layer 6 packages do not import one another"},
	{"cmd/mcpd/...", join(load, "bench/...", "chaos/..."),
		"the command starts bench and chaos, which do not know it"},
}

// importRules says who may import packages outside of this module. A path without a row may be
// imported by nobody: a new dependency is a decision, and its row gives the reason. The first row
// that matches the path applies.
var importRules = []rule{
	{"github.com/asynkron/protoactor-go/...", []string{"supervisor/otp/...", "bench/actor"},
		"actors are written against otp, protoactor is how it runs them, and what it is measured beside"},
	{"github.com/thejerf/suture/v4", []string{"supervisor/..."},
		"services are supervised by otp alone; a Serve method needs no import"},
	{"github.com/lmittmann/tint", []string{"telemetry/...", "cmd/..."},
		"one place decides what a log line looks like"},
	{"github.com/prometheus/...", []string{"telemetry/..."},
		"instruments are rows of telemetry's table"},
	{"github.com/go-json-experiment/json/...",
		[]string{"protocol/...", "transport/...", "gateway/...", "telemetry/...", "actors/...",
			"store/...", "supervisor/...", "cmd/...", "bench/...", "chaos/...", "internal/load/...",
			"internal/mcptest/..."}, "the strict JSON codec is for all who read JSON, except otp and what " +
			"is generated"},
	{"google.golang.org/protobuf/...",
		[]string{"proto/gen/...", "telemetry/...", "store/...", "cmd/...", "supervisor"},
		"messages are protobuf only where they leave the process"},
	{"github.com/goccy/go-yaml/...", []string{"gateway/config/...", "chaos/experiment/...", "cmd/..."},
		"only the configuration and experiments are YAML"},
	{"github.com/santhosh-tekuri/jsonschema/v6/...", []string{"gateway/...", "internal/mcptest/..."},
		"schemas are checked at the edge"},
	{"github.com/andybalholm/brotli", []string{"transport/streamable/...", "internal/mcptest/..."},
		"bodies that come compressed are decoded where they are read"},
	{"github.com/pires/go-proxyproto", []string{"transport/streamable/..."},
		"the PROXY protocol comes before all else on a connection"},
	{"github.com/klauspost/compress/zstd",
		[]string{"transport/streamable/...", "internal/mcptest/..."},
		"bodies that come compressed are decoded where they are read"},
	{"github.com/yosida95/uritemplate/v3", []string{"gateway/...", "protocol/..."},
		"templates route resources"},
	{"github.com/spf13/...", []string{"cmd/..."}, "flags are the command's"},
	{"github.com/HdrHistogram/hdrhistogram-go",
		[]string{"internal/load/...", "bench/...", "chaos/..."},
		"what measures keeps histograms, what is measured keeps counters"},
	{"github.com/modelcontextprotocol/go-sdk/...", []string{"internal/mcptest/...", "bench/..."},
		"another implementation is for comparison only"},
	{"golang.org/x/sys/...", []string{"transport/stdio/...", "actors/process/...", "store/...",
		"telemetry/admin", "transport/streamable", "cmd/...",
		"chaos/..."}, "system calls stand where processes and files are, and where connections are " +
		"accepted"},
	{"golang.org/x/net/publicsuffix", []string{"gateway/config/..."},
		"below which names everybody can have one is a list that others keep"},
	{"golang.org/x/term", []string{"telemetry/...", "cmd/..."}, "terminals are for people"},
	{"go.uber.org/goleak", []string{"internal/mcptest/..."}, "leak checks are for tests"},
	{"pgregory.net/rapid", []string{"internal/mcptest/..."}, "generated cases are for tests"},
	{"github.com/rogpeppe/go-internal/...", []string{"internal/mcptest/..."}, "scripts are for tests"},

	// The standard library, where its use would break a promise.
	{"net/http/...", []string{"transport/...", "telemetry/...", "cmd/...", "supervisor", "bench/...",
		"chaos/...", "internal/load/...",
		"internal/mcptest/..."}, "HTTP ends at the transports and the admin listener"},
	{"net", []string{"transport/...", "telemetry/admin", "gateway/...", "cmd/...", "supervisor",
		"bench/...", "chaos/...", "internal/load/...",
		"internal/mcptest/..."}, "sockets belong to transports and listeners"},
	{"log/slog", []string{"supervisor/...", "transport/...", "telemetry/...", "store/...", "cmd/...",
		"bench/...", "chaos/...", "internal/load/...",
		"internal/mcptest/..."}, "protocol, gateway and actors do not log: they return errors or emit " +
		"events"},
	{"unsafe", []string{"proto/gen/...", "internal/clock"},
		"nothing written by hand needs it, save what sets the hour of a time without what has elapsed"},
}

func join(list []string, more ...string) []string {
	return append(append([]string(nil), list...), more...)
}
