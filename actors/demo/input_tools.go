package demo

import "strconv"

// inputTools are the fixtures of the official conformance suite that ask the client something. One
// row serves both eras.
var inputTools = []tool{
	{name: "test_sampling", title: "Sampling",
		description: "Asks the client's model and answers with what it said.",
		params:      []param{{name: "prompt", description: "What to ask the model."}},
		steps: []step{
			ask{inputs: []input{sampleOf("sample", "prompt")}},
			formatted("LLM response: %s", said("sample")),
		}},
	{name: "test_elicitation", title: "Elicitation",
		description: "Asks the user for a name and an address, and answers with them.",
		params:      []param{{name: "message", description: "What to say to the user."}},
		steps: []step{
			ask{inputs: []input{formOf("contact", "%s", "message", contactForm)}},
			elicited("User response", "contact"),
		}},
	{name: "test_elicitation_sep1034_defaults", title: "Elicitation with defaults",
		description: "Asks the user with a form in which every field has a default.",
		steps: []step{
			ask{
				inputs: []input{
					form("form", "Please review and update the form fields with defaults", defaultsForm),
				},
			},
			elicited("Elicitation completed", "form"),
		}},
	{name: "test_elicitation_sep1330_enums", title: "Elicitation with choices",
		description: "Asks the user with a form that has every kind of choice.",
		steps: []step{
			ask{inputs: []input{form("form", "Please select options from the enum fields", enumsForm)}},
			elicited("Elicitation completed", "form"),
		}},
	{name: "test_streaming_elicitation", title: "Elicitation and no more",
		description: "Asks the user, and sends nothing else on the way.",
		steps: []step{
			ask{inputs: []input{userName}}, formatted("Hello, %s!", entered("user_name", "name")),
		}},
	{name: "test_missing_capability", title: "Missing capability",
		description: "Refuses a client that did not declare sampling.", readOnly: true,
		steps: []step{needs("sampling"), returns(text("The client declared sampling."))}},

	{name: "test_input_required_result_elicitation", title: "Input: elicitation",
		description: "Asks the user for a name and greets.",
		steps: []step{
			ask{inputs: []input{userName}}, formatted("Hello, %s!", entered("user_name", "name")),
		}},
	{name: "test_input_required_result_sampling", title: "Input: sampling",
		description: "Asks the client's model for a capital.",
		steps: []step{
			ask{inputs: []input{sample("capital_question", "What is the capital of France?", sampleTokens)}},
			formatted("%s", said("capital_question")),
		}},
	{name: "test_input_required_result_list_roots", title: "Input: roots",
		description: "Asks the client for its roots.",
		steps: []step{
			ask{inputs: []input{listRoots("client_roots")}}, formatted("Roots: %s", rootsOf("client_roots")),
		}},
	{name: "test_input_required_result_request_state", title: "Input with a state",
		description: "Asks the user to confirm, and wants its state back with the answer.",
		steps: []step{
			ask{inputs: []input{confirmation}, sealed: true},
			formatted("state-ok: %s", entered("confirm", "ok")),
		}},
	{name: "test_input_required_result_tampered_state", title: "Input with a state that matters",
		description: "Asks the user to confirm, and refuses a state that was changed.",
		steps: []step{
			ask{inputs: []input{confirmation}, sealed: true},
			formatted("state-ok: %s", entered("confirm", "ok")),
		}},
	{name: "test_input_required_result_multiple_inputs", title: "Several inputs",
		description: "Asks the user, the model and for the roots at once.",
		steps: []step{
			ask{inputs: []input{userName, greeting, listRoots("client_roots")}, sealed: true},
			formatted("%s, %s! Roots: %s", said("greeting"), entered("user_name", "name"),
				rootsOf("client_roots")),
		}},
	{name: "test_input_required_result_multi_round", title: "Several rounds",
		description: "Asks the user twice, the second time knowing the first answer.",
		steps: []step{
			ask{inputs: []input{form("step1", "Step 1: What is your name?", nameForm)}, sealed: true},
			ask{
				inputs: []input{form("step2", "Step 2: What is your favorite color?", colorForm)}, sealed: true,
			},
			formatted("%s likes %s.", entered("step1", "name"), entered("step2", "color")),
		}},
	{name: "test_input_required_result_capabilities", title: "What the client can",
		description: "Asks only what the client declared that it can be asked.",
		steps: []step{
			ask{inputs: []input{userName, greeting, listRoots("client_roots")}, optional: true},
			answer(func(k *call) object { return text(strconv.Itoa(len(k.answers)) + " answers") }),
		}},
}

// Inputs that several fixtures share.
var (
	userName     = form("user_name", "What is your name?", nameForm)
	confirmation = form("confirm", "Please confirm", confirmForm)
	greeting     = sample("greeting", "Generate a greeting", greetingTokens)
)

const greetingTokens = 50
