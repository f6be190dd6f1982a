package interop

import (
	"fmt"
	"strings"

	"mcpd/protocol"
	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// feature is a row of the matrix. It says what a client does, and which pairs do not support that.
type feature struct {
	name string
	row  string // of the bridge table (§10 of the protocol matrix)
	// unsupported says why a pair does not support the feature and what the answer is instead. It is
	// "" if the pair supports the feature.
	unsupported func(client, server protocol.Version) string
	instead     string // part of the answer if the pair does not support the feature
	// works uses the feature. It returns a description of the failure, or "".
	works func(c *matrixClient, server upstream) string
}

func always(protocol.Version, protocol.Version) string { return "" }

// asks returns a check that calls a tool and answers its questions. The result must contain want.
func asks(tool, arguments, want string) func(*matrixClient, upstream) string {
	return func(c *matrixClient, _ upstream) string {
		answer, _ := c.call(tool, arguments)
		return checkContains(answer, want)
	}
}

func checkContains(m jsonrpc.Message, want string) string {
	if text := string(m.Append(nil)); m.Error != nil || !strings.Contains(text, want) {
		return text
	}
	return ""
}

// noElicitation says why a pair cannot carry a question to the user.
func noElicitation(client, server protocol.Version) string {
	switch {
	case !client.Has(protocol.Elicitation):
		return "the client's revision has no word for elicitation, so none is declared to the server, " +
			"whose answer says what its client lacks"
	case !server.Has(protocol.Elicitation):
		return "the server's revision has no word for elicitation, so the server does not ask, and its " +
			"answer says what its client lacks"
	}
	return ""
}

const watched = "test://watched-resource"

var compatFeatures = []feature{
	{"call a tool", "10.4", always, "", asks("echo", `{"message":"hello"}`, `"hello"`)},
	{"lists, resources, prompts", "10.3, 10.4", always, "", func(c *matrixClient, _ upstream) string {
		for _, step := range [][3]string{
			{"tools/list", `{}`, `"echo"`},
			{"prompts/get", `{"name":"test_simple_prompt"}`, `"messages"`},
			{"resources/read", `{"uri":"test://static-text"}`, `static text`},
			{"resources/templates/list", `{}`, `test://template`},
		} {
			answer := c.exchange(step[0], step[1], nil)
			if wrong := checkContains(answer, step[2]); wrong != "" {
				return wrong
			}
		}
		return ""
	}},
	{"structured results", "10.4", func(client, server protocol.Version) string {
		switch {
		case !client.Has(protocol.StructuredContent):
			return "the client's revision has no member for it: it is left out, and the text of the " +
				"result says the same"
		case !server.Has(protocol.StructuredContent):
			return "the server's revision has no member for it: the text of the result says the same"
		}
		return ""
	}, `"type":"text"`, asks("time", `{}`, `"structuredContent"`)},
	{"progress", "10.5", always, "", func(c *matrixClient, _ upstream) string {
		answer, heard := c.call("test_tool_with_progress", `{}`)
		return count(answer, heard, "notifications/progress", 3)
	}},
	{"log lines of a call", "10.7", always, "", func(c *matrixClient, _ upstream) string {
		if c.version.Has(protocol.SetLevel) {
			c.exchange("logging/setLevel", `{"level":"info"}`, nil)
		}
		answer, heard := c.call("test_tool_with_logging", `{}`)
		return count(answer, heard, "notifications/message", 3)
	}},
	{"completion", "10.15", always, "", func(c *matrixClient, _ upstream) string {
		answer := c.exchange("completion/complete",
			`{"ref":{"type":"ref/prompt","name":"test_prompt_with_arguments"},"argument":{"name":"arg1","value":"pari"}}`, nil)
		return checkContains(answer, `"paris"`)
	}},
	{"cancelling a call", "10.6", always, "", func(c *matrixClient, server upstream) string {
		began, ended := "tools/call slow_compute", "notifications/cancelled "
		calls, cancels := server.received(began), server.received(ended)
		end := c.start(c.message("tools/call", `{"name":"slow_compute","arguments":{"seconds":100}}`),
			func(jsonrpc.Message) {})
		arrived := within(func() bool { return server.received(began) > calls })
		switch answered := end(); {
		case !arrived:
			return "the call does not arrive"
		case !within(func() bool { return server.received(ended) > cancels }):
			return "the server is not told"
		case len(answered) > 0:
			return fmt.Sprintf("answered %s", answered[0].Append(nil))
		}
		return ""
	}},
	{"list changes", "10.8", always, "", func(c *matrixClient, _ upstream) string {
		defer c.listen(watched)()
		c.call("test_trigger_tool_change", `{}`)
		if !c.receives("notifications/tools/list_changed") {
			return "nothing is told"
		}
		return ""
	}},
	{"resource updates", "10.9", always, "", func(c *matrixClient, _ upstream) string {
		defer c.listen(watched)()
		c.call("touch_watched_resource", `{}`)
		if !c.receives("notifications/resources/updated") {
			return "nothing is told"
		}
		return ""
	}},
	{"elicitation", "10.10, 10.11", noElicitation, "elicitation",
		asks("test_elicitation", `{"message":"who?"}`, "a@b.c")},
	{"sampling", "10.10, 10.11", always, "",
		asks("test_sampling", `{"prompt":"six by seven"}`, "forty-two")},
	{"roots", "10.10, 10.11", always, "", asks("test_input_required_result_list_roots", `{}`, "")},
	{"all three questions at once", "10.10, 10.11", noElicitation, "elicitation",
		asks("test_input_required_result_multiple_inputs", `{}`, "forty-two, ann! Roots: ")},
	{"a question that depends on an answer", "10.10, 10.11", noElicitation, "elicitation",
		asks("test_input_required_result_multi_round", `{}`, "ann likes blue.")},
	{"a question of a prompt", "10.10, 10.11", noElicitation, "elicitation",
		func(c *matrixClient, _ upstream) string {
			answer, _ := c.request("prompts/get", `{"name":"test_input_required_result_prompt"}`)
			return checkContains(answer, `"messages"`)
		}},
	{"tasks, and a question in one", "10.12, 10.14", func(client, server protocol.Version) string {
		switch {
		case !client.Has(protocol.Tasks) && !client.Has(protocol.TasksExtension):
			return "the client's revision has no tasks: its call is answered when it is done"
		case !server.Has(protocol.Tasks) && !server.Has(protocol.TasksExtension):
			return "the server's revision has no tasks, so none are offered: the call is answered when it " +
				"is done"
		}
		return ""
	}, "Computed: it", func(c *matrixClient, _ upstream) string {
		if wrong := c.callTask("slow_compute", `{"seconds":0,"label":"it"}`,
			"Computed: it"); wrong != "" {
			return wrong
		}
		return c.callTask("confirm_delete", `{"filename":"it"}`, "Deletion of it confirmed")
	}},
	{"resource not found", "10.16", always, "", func(c *matrixClient, _ upstream) string {
		answer := c.exchange("resources/read", `{"uri":"test://nowhere"}`, nil)
		want := int64(protocol.CodeResourceNotFound)
		if !c.version.Has(protocol.ResourceNotFoundCode) {
			want = jsonrpc.CodeInvalidParams
		}
		if answer.Error == nil || answer.Error.Code != want {
			return string(answer.Append(nil))
		}
		return ""
	}},
}

func count(answer jsonrpc.Message, heard []jsonrpc.Message, method string, want int) string {
	n := 0
	for _, m := range heard {
		if m.Method == method {
			n++
		}
	}
	if failed, _ := jsonedit.Get(answer.Result, "isError"); answer.Error != nil ||
		failed.Kind() == 't' || n < want {
		return fmt.Sprintf("%d of %d, then %s", n, want, answer.Append(nil))
	}
	return ""
}
