// Package otp is OTP's supervisor behaviour for Go: trees of actors that are started in order, watched, restarted by
// strategy and intensity, and stopped in reverse, on protoactor-go and suture.
//
// It knows no protocol and no network, and it is no cluster: a tree lives in one process. It does not store what
// actors know; a worker's state is gone when it crashes, except for what it handed on as its heir.
//
// # Words
//
// A tree is made of rows. A row has an id, unique among its siblings, and a path ("app/pool/7"). What runs in a row is a
// worker (an actor), a service (a suture.Service in a goroutine) or a supervisor, in one incarnation after the other. A
// Ref is the address of a row: it stays the same while incarnations, processes and supervisors above come and go.
//
//	system := otp.NewSystem(otp.Options{})
//	tree, err := system.Start(ctx, "app", otp.Spec{
//		Strategy:  otp.RestForOne,
//		Intensity: otp.Intensity{Restarts: 3, Within: time.Minute},
//		Children: []otp.Child{
//			{ID: "store", Start: otp.Worker(newStore)},
//			{ID: "pool", Start: otp.Supervisor(otp.Spec{
//				Strategy: otp.SimpleOneForOne,
//				Children: []otp.Child{{Restart: otp.Temporary, Start: otp.WorkerWith(newSession)}},
//			})},
//			{ID: "http", Shutdown: 25 * time.Second, Start: otp.Service(newListener)},
//		},
//	})
//
// # Workers
//
// A worker is a Behaviour: Init, Receive, Terminate, all on one goroutine. A new value is made for every incarnation. It
// ends an incarnation by returning a reason from Receive, or by crashing. Expected failures are answers; a bug may panic.
//
//   - Send never blocks: nil, ErrNoProc or ErrOverloaded, at the exact bound of the mailbox. A message may be of a Class with
//     another bound: Sheddable ones leave half of the mailbox to others, Owed ones are never refused, because their number is
//     bounded by what was accepted before.
//   - Do asks from a plain goroutine, CallAsync from inside a worker. Both fail at once when the worker crashes on the
//     call, stops before it, or is not there.
//   - Process.Go runs what blocks in a goroutine that the incarnation owns and waits for. Its panic is the worker's crash.
//   - Process.After, Post, PostWait, Monitor and CallAsync reach this incarnation only; leftovers of an old one are dropped.
//   - Process.SetHeir hands a value to the next incarnation, and Process.Heir is where that finds it. Incarnations that
//     panic with it one after the other, as soon as they have it, are followed by one without.
//
// Receive must not wait for what it cannot cancel: nobody can end a goroutine in Go. A worker that does not come back
// when it is told to stop is abandoned: it is taken out of the tree, what waits for it is failed, an Abandoned event is sent, and what it
// still does has no effect on its successor. One that does not come back from a message is reported after Child.Soft (a Stuck event with
// where it is) and replaced after Child.Hard, which is a crash with ErrStuck to everybody else. Both are of time for which the machine could have
// run it, and begin again with each call of Process.Progress:
//
//   - The message in hand fails at once, and so does every call that it has taken and not answered. What waits in the mailbox is handled by
//     its successor, in order.
//   - Its heir is given up, because it may still change it, unless it is a Fenced one. It is told so when the goroutine has come back.
//   - What it does by way of its Process has no effect: SetHeir, After, Post, Send, CallAsync, Monitor, Link and Go. Ref.Send carries no
//     sender, and values that are shared are shared: Process.Check, called before, ends it there.
//   - An Init that hangs is reported after Soft, and a failed start after StartTimeout. A supervisor that hangs in what it calls (the function
//     that makes its spec, Fail, Abandon) is abandoned with what is below it, and started again.
//   - It stays a goroutine until it returns, and is counted until then (System.Hung, Node.Hung). There may be MaxHung
//     behind each bulkhead (Child.Bulkhead), so that what hangs again and again uses up nobody else's replacements. A supervisor below which there are as many starts no child that was not there before; at most MaxStarting do so at once.
//
// # Restarts
//
//	restart type    started again after
//	Permanent       every end
//	Transient       an abnormal end: not after Normal, ErrShutdown or ShutdownWith
//	Temporary       no end; its row is deleted
//
// Permanent and transient workers restart in place: the same process, the same mailbox, a new Behaviour, the incarnation
// number one higher. Only the message that crashed it fails; those behind it are handled by the new incarnation.
// Supervisors restart as a new process over the same rows.
//
//	strategy          restarted with it
//	OneForOne         nothing
//	OneForAll         all siblings: stopped in reverse, started in order
//	RestForOne        the siblings started after it
//	SimpleOneForOne   nothing; the children are a pool from one template, addressed by id, without order
//
// A supervisor may make Intensity.Restarts restarts in any window of Intensity.Within. One more, and it stops its children
// in reverse and ends itself with a shutdown, so that its own supervisor decides: a permanent one is restarted and
// counted there, a transient one rests, and above the root it is the process that ends (Tree.Done, Tree.Service).
//
// A supervisor with a Backoff never gives up: a child that exceeds the intensity is paused, for longer each time, and its
// siblings notice nothing. There, a crash on an Attributed message is charged to who caused the message and does not count
// for the child, which refuses that origin for a while once it repeats itself. OTP has neither.
//
// # Start and stop
//
// Children start left to right, each when the one before is ready, that is when its Init has returned or, for a
// supervisor, when its own children are ready. If one fails, those started are stopped in reverse and the start fails with a
// StartError; there is no half-started tree. Children stop right to left, each within its Shutdown, those of a pool
// all at once.
//
// # Services
//
// A loop that owns a resource and has no mailbox is a suture.Service. Its factory runs synchronously, so that a socket that
// cannot be bound is a failed start. Serve runs in a goroutine, its context ends when the row is stopped.
//
//	Serve returns                           is
//	nil, suture.ErrDoNotRestart             Normal
//	suture.ErrTerminateSupervisorTree       ErrGiveUp: the supervisor above gives up, whatever its intensity
//	any other error                         an abnormal end
//	(a panic)                               a crash
//
// suture itself supervises exactly one thing, the root: Tree.Service or NewService under the outermost suture supervisor.
//
// # Looking at it
//
// System.Snapshot and Whereis read the rows and ask no actor. Options.Events is called with everything that happens.
// A CrashReport holds program counters and types; it is formatted by whoever reads it, never while something restarts.
//
// # Where it differs from OTP
//
// docs/otp-parity.gen.md lists some ninety cases of OTP's own test suite and rules, each run against this package, and
// why the few that differ do. The main ones: nothing can be killed, only abandoned; a slow start under one_for_one
// does not hold up siblings; pool entries have ids; restarts are in place; the window is not counted in whole seconds.
//
// # Inside
//
// decide.go, plan.go, request.go and intensity.go decide and do nothing: state.Step(now, input) returns actions.
// supervisor.go and perform.go are the process that performs them; turn.go is how a goroutine goes on with another process.
// guard.go stands between protoactor's mailbox and its actor context and repairs the latter's life cycle; mailbox.go
// replaces its mailbox. Every panic and every Goexit of user code arrives in guard.EscalateFailure.
package otp
