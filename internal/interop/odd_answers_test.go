package interop

// called is a script with one tool, whose call is answered so.
func called(r ...oddReply) says { return says{"tools/call it": r} }

// askCall calls that tool.
var askCall = []oddAsk{{method: "tools/call", params: `{"name":"it"}`}}

// everywhere are all transports.
var everywhere = []string{oddStdio, oddJSON, oddEvents, oddSSE}

// oddAnswers are the rows of part 1: how servers write their answers.
func oddAnswers() []oddRow {
	return []oddRow{
		{part: 1, name: "lone-high", odd: `a lone high surrogate in a text`, over: everywhere,
			says: called(result(text(`cut \ud83d here`))), asks: askCall},
		{part: 1, name: "lone-low", odd: `a lone low surrogate`, says: called(result(text(`\ude00 at the start`))), asks: askCall},
	}
}
