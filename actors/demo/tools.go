package demo

import (
	"fmt"
	"time"
)

// beat is the pause that the fixtures make between two messages, long enough to see that they are not collected and sent together.
const beat = 50 * time.Millisecond

// tools is what tools/list shows, in this order. The first must succeed without arguments: checkers call it so. Those named test_… and
// json_schema_… are the fixtures of the official conformance suite, whose texts and forms are given.
var tools = []tool{
	{name: "time", title: "Time", description: "Tells the time of the server.", readOnly: true, output: timeSchema,
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
		steps: []step{says(text("This is a simple text response for testing."))}},
	{name: "test_image_content", title: "Image", description: "Answers with an image.", readOnly: true,
		steps: []step{says(content(imageBlock()))}},
	{name: "test_audio_content", title: "Audio", description: "Answers with a sound.", readOnly: true,
		steps: []step{says(content(audioBlock()))}},
	{name: "test_embedded_resource", title: "Embedded resource", description: "Answers with a resource.", readOnly: true,
		steps: []step{says(content(resourceBlock("test://embedded-resource", "text/plain", "This is an embedded resource content.")))}},
	{name: "test_multiple_content_types", title: "Mixed content", description: "Answers with a text, an image and a resource.", readOnly: true,
		steps: []step{says(content(
			textBlock("Multiple content types test:"),
			imageBlock(),
			resourceBlock("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
		))}},
	{name: "test_tool_with_logging", title: "Logging", description: "Logs three lines, then answers.", readOnly: true,
		steps: []step{
			logs("Tool execution started"), pause(beat),
			logs("Tool processing data"), pause(beat),
			logs("Tool execution completed"),
			says(text("Tool with logging executed successfully")),
		}},
	{name: "test_tool_with_progress", title: "Progress", description: "Reports its progress three times, then answers.", readOnly: true,
		steps: []step{
			progress{0, 100}, pause(beat),
			progress{50, 100}, pause(beat),
			progress{100, 100},
			says(text("Tool with progress executed successfully")),
		}},
	{name: "test_error_handling", title: "Error", description: "Answers that it failed.", readOnly: true,
		steps: []step{says(failed("This tool intentionally returns an error for testing"))}},
	{name: "test_sampling", title: "Sampling", description: "Asks the client's model and answers with what it said.",
		params: []param{{name: "prompt", description: "What to ask the model."}},
		steps: []step{
			ask{method: "sampling/createMessage", needs: "sampling", params: samplingParams},
			answer(sampled),
		}},
	{name: "test_elicitation", title: "Elicitation", description: "Asks the user for a name and an address, and answers with them.",
		params: []param{{name: "message", description: "What to say to the user."}},
		steps: []step{
			ask{method: "elicitation/create", needs: "elicitation.form", params: func(k *call) object {
				return form(k.arg("message"), contactForm)
			}},
			answer(elicited("User response")),
		}},
	{name: "test_elicitation_sep1034_defaults", title: "Elicitation with defaults",
		description: "Asks the user with a form in which every field has a default.",
		steps: []step{
			ask{method: "elicitation/create", needs: "elicitation.form", params: func(*call) object {
				return form("Please review and update the form fields with defaults", defaultsForm)
			}},
			answer(elicited("Elicitation completed")),
		}},
	{name: "test_elicitation_sep1330_enums", title: "Elicitation with choices",
		description: "Asks the user with a form that has every kind of choice.",
		steps: []step{
			ask{method: "elicitation/create", needs: "elicitation.form", params: func(*call) object {
				return form("Please select options from the enum fields", enumsForm)
			}},
			answer(elicited("Elicitation completed")),
		}},
	{name: "test_reconnection", title: "Reconnection",
		description: "Has its stream closed during the call. The answer waits for the client that comes back.", readOnly: true,
		steps: []step{
			closeStream(2 * beat), pause(2 * beat),
			says(text("Reconnection test completed successfully. If you received this, the client properly reconnected after stream closure.")),
		}},
	{name: "json_schema_2020_12_tool", title: "JSON Schema 2020-12",
		description: "Has a schema of many keywords, which must arrive unchanged.", readOnly: true,
		schema: contactSchema, check: checkContact,
		steps: []step{answer(func(k *call) object {
			return text(fmt.Sprintf("JSON Schema 2020-12 tool called with: %s", k.args))
		})}},
}

// findTool finds a row by name. Some twenty rows are searched as fast as hashed.
func findTool(name string) (tool, bool) {
	for _, t := range tools {
		if t.name == name {
			return t, true
		}
	}
	return tool{}, false
}
