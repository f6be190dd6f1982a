package demo

import "time"

// jobTime is how long a job takes that has no other time given. It is long enough to be observed.
const jobTime = time.Second

// maxSeconds bounds the duration of slow_compute. It is far below the time for which a task is
// kept.
const maxSeconds = 120

// taskTools are the tools that become tasks if the client can follow them, as the official
// conformance suite requires, and one that never does. Any other client waits for the end.
var taskTools = []tool{
	{name: "greet", title: "Greet", description: "Greets at once.", readOnly: true,
		params: []param{{name: "name", description: "Whom to greet."}},
		steps:  []step{formatted("Hello, %s!", arg("name"))}},
	{name: "slow_compute", title: "Slow computation",
		description: "Takes as long as it is told to, then answers.", readOnly: true,
		params: []param{
			{name: "seconds", description: "How long to take.", kind: integer, max: maxSeconds},
			{name: "label", description: "What to answer with.", optional: true},
		},
		steps: []step{inTask{}, seconds("seconds"), formatted("Computed: %s", arg("label"))}},
	{name: "failing_job", title: "Failing job",
		description: "Works a second as a task, and answers that it failed.", readOnly: true,
		steps: []step{
			needs(tasksCapability), inTask{}, pause(jobTime),
			returns(failed("This job intentionally fails")),
		}},
	{name: "protocol_error_job", title: "Broken job",
		description: "Works a second and ends with a protocol error.", readOnly: true,
		steps: []step{inTask{}, pause(jobTime), protocolError("this job intentionally breaks")}},
	{name: "confirm_delete", title: "Confirmed deletion",
		description: "Asks the user whether to delete a file that does not exist.",
		params:      []param{{name: "filename", description: "What to delete."}},
		steps: []step{
			inTask{}, ask{inputs: []input{formOf("confirm_delete", "Delete %s?", "filename", deleteForm)}},
			formatted("Deletion of %s confirmed: %s", arg("filename"), entered("confirm_delete", "confirm")),
		}},
	{name: "multi_input", title: "Several inputs of a job",
		description: "Asks the user two things at once.",
		steps: []step{
			inTask{},
			ask{
				inputs: []input{
					form("first", "What is your first name?", nameForm),
					form("last", "What is your last name?", nameForm),
				},
			},
			formatted("Hello, %s %s!", entered("first", "name"), entered("last", "name")),
		}},
	{name: "test_tool_with_task", title: "Input, then a job",
		description: "Asks the user for a name, then works a second to greet.",
		steps: []step{
			ask{inputs: []input{userName}}, inTask{}, pause(jobTime),
			formatted("Hello, %s!", entered("user_name", "name")),
		}},
}
