package demo

import (
	"fmt"
	"slices"
	"time"
)

// beat is the pause of the fixtures between two messages. It is long enough to show that the
// messages are not batched.
const beat = 50 * time.Millisecond

// tools are the tools in the order of tools/list. The first must succeed without arguments, because
// conformance checkers call it that way. The jobs and the tools named test_… and json_schema_…
// are the fixtures of the official conformance suite, which prescribes their texts and forms.
var tools = slices.Concat(directTools, inputTools, taskTools)

// directTools are the tools that answer without asking the client.
var directTools = []tool{
	{name: "time", title: "Time", description: "Tells the time of the server.", readOnly: true,
		output: timeSchema,
		steps: []step{answer(func(k *call) object {
			now := k.now.UTC().Format(time.RFC3339)
			return object{"content": []object{textBlock(now)}, "structuredContent": object{"time": now}}
		})}},
	{name: "echo", title: "Echo", description: "Answers with the message it is given.", readOnly: true,
		params: []param{{name: "message", description: "What to answer."}},
		steps:  []step{answer(func(k *call) object { return text(k.arg("message")) })}},
	{name: "touch_watched_resource", title: "Touch the watched resource",
		description: "Changes test://watched-resource, of which subscribers are told.",
		steps: []step{touch(watchedURI), answer(func(k *call) object {
			return text(fmt.Sprintf("%s is at version %d", watchedURI, k.touched))
		})}},

	{name: "test_simple_text", title: "Text", description: "Answers with a text.", readOnly: true,
		steps: []step{returns(text("This is a simple text response for testing."))}},
	{name: "test_image_content", title: "Image", description: "Answers with an image.", readOnly: true,
		steps: []step{returns(content(imageBlock()))}},
	{name: "test_audio_content", title: "Audio", description: "Answers with a sound.", readOnly: true,
		steps: []step{returns(content(audioBlock()))}},
	{name: "test_embedded_resource", title: "Embedded resource",
		description: "Answers with a resource.", readOnly: true,
		steps: []step{
			returns(content(resourceBlock("test://embedded-resource", "text/plain",
				"This is an embedded resource content."))),
		}},
	{name: "test_multiple_content_types", title: "Mixed content",
		description: "Answers with a text, an image and a resource.", readOnly: true,
		steps: []step{returns(content(
			textBlock("Multiple content types test:"),
			imageBlock(),
			resourceBlock("test://mixed-content-resource", "application/json",
				`{"test":"data","value":123}`),
		))}},
	{name: "test_tool_with_logging", title: "Logging", description: "Logs three lines, then answers.",
		readOnly: true,
		steps: []step{
			logs("Tool execution started"), pause(beat),
			logs("Tool processing data"), pause(beat),
			logs("Tool execution completed"),
			returns(text("Tool with logging executed successfully")),
		}},
	{name: "test_tool_with_progress", title: "Progress",
		description: "Reports its progress three times, then answers.", readOnly: true,
		steps: []step{
			progress{0, 100}, pause(beat),
			progress{50, 100}, pause(beat),
			progress{100, 100},
			returns(text("Tool with progress executed successfully")),
		}},
	{name: "test_error_handling", title: "Error", description: "Answers that it failed.",
		readOnly: true,
		steps:    []step{returns(failed("This tool intentionally returns an error for testing"))}},
	{name: "test_logging_tool", title: "One log line", description: "Logs a line, then answers.",
		readOnly: true,
		steps: []step{
			logs("Logging tool called"), returns(text("Logging tool executed successfully")),
		}},
	{name: "test_reconnection", title: "Reconnection",
		description: "Has its stream closed during the call. The answer waits for the client that " +
			"comes back.", readOnly: true,
		steps: []step{
			closeStream(2 * beat), pause(2 * beat),
			returns(
				text("Reconnection test completed successfully. If you received this, the client properly " +
					"reconnected after stream closure."),
			),
		}},
	{name: "json_schema_2020_12_tool", title: "JSON Schema 2020-12",
		description: "Has a schema of many keywords, which must arrive unchanged.", readOnly: true,
		schema: contactSchema, check: checkContact,
		steps: []step{answer(func(k *call) object {
			return text(fmt.Sprintf("JSON Schema 2020-12 tool called with: %s", k.args))
		})}},
	{name: "test_x_mcp_header", title: "Arguments as headers",
		description: "Has arguments that are repeated in HTTP headers (SEP-2243).", readOnly: true,
		params: []param{
			{name: "region", description: "Any text.", header: "Region"},
			{name: "count", description: "A number.", kind: integer, max: 1000, optional: true,
				header: "Count"},
			{name: "dry", description: "Yes or no.", kind: boolean, optional: true, header: "Dry-Run"},
		},
		steps: []step{formatted("The region is %s.", arg("region"))}},
	{name: "test_trigger_tool_change", title: "Change the tools",
		description: "Adds test_changing_tool to the tools or takes it away.",
		steps:       []step{change("tools"), returns(text("The list of tools has changed."))}},
	{name: "test_trigger_prompt_change", title: "Change the prompts",
		description: "Adds test_changing_prompt to the prompts or takes it away.",
		steps:       []step{change("prompts"), returns(text("The list of prompts has changed."))}},
	{name: "test_changing_tool", title: "Changing tool", description: "Comes and goes.",
		readOnly: true, dynamic: true,
		steps: []step{returns(text("This tool will go."))}},
}

// findTool finds a row by name, unless it is absent at the moment. A linear search over some forty
// rows is as fast as a map.
func (c *core) findTool(name string) (tool, bool) {
	i := slices.IndexFunc(tools, func(t tool) bool {
		return t.name == name && (!t.dynamic || c.changed["tools"])
	})
	if i < 0 {
		return tool{}, false
	}
	return tools[i], true
}
