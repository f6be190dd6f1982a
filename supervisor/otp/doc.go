// Package otp brings OTP's supervisor behaviour to Go. It runs trees of actors: it starts them in
// order, watches them, restarts them by strategy and intensity, and stops them in reverse order. It
// is built on protoactor-go and suture.
//
// The package knows no protocol and no network, and it is no cluster: a tree lives in one process.
// It stores no state of actors. The state of a worker is lost when the worker crashes, except for
// the value that it handed over as carried state (Process.SetCarriedState).
//
// # Words
//
// A tree is made of rows. A row has an id, which is unique among its siblings, and a path
// ("app/pool/7"). A row runs a worker (an actor), a service (a suture.Service in a goroutine) or a
// supervisor. Each run between two restarts is an incarnation; the row outlives its incarnations. A
// Ref is the address of a row: it stays valid while incarnations, processes and the supervisors
// above are replaced.
//
// A goroutine that does not stop is isolated: it still runs, but its calls on its Process have no
// effect. A child that is isolated without a successor is abandoned. A failure domain is a part of
// the tree in which stuck goroutines are counted separately (Child.FailureDomain).
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
// # Defaults
//
//	value                 default                                       set by
//	restart type          Permanent                                     Child.Restart
//	strategy              OneForOne                                     Spec.Strategy
//	intensity             1 restart in 5 s                              Spec.Intensity
//	time to stop          5 s; for a supervisor no limit                Child.Shutdown
//	time to start         10 s                                          Child.StartTimeout
//	stuck: reported       after 1 s at one message                      Child.SoftTimeout
//	stuck: replaced       after 5 s at one message                      Child.HardTimeout
//	mailbox               1024 messages, 1,048,576 at most              Child.Mailbox
//	throughput            10 messages before other actors run           Options.Throughput
//	stuck goroutines      64 in a failure domain, 1024 outside root's   MaxIsolated, MaxIsolatedTotal
//	starts at once        64 by one supervisor                          MaxStarting
//
// # Workers
//
// A worker is a Behaviour: Init, Receive and Terminate, all called on one goroutine at a time.
// Every incarnation gets a new value. A worker ends its incarnation by returning a reason from
// Receive, or by crashing. Report expected failures as answers; let a bug panic.
//
//   - Send never blocks. It returns nil, ErrNoProc or ErrOverloaded. ErrOverloaded comes at the
//     exact bound of the mailbox. A message can have a Class with another bound: BestEffort
//     messages leave half of the mailbox to others; reserved messages are never refused,
//     because their number is bounded by the messages that were accepted before.
//   - Do calls an actor from a plain goroutine, CallAsync from inside a worker. Both fail at once
//     when the worker crashes on the call, stops before it, does not know it, or does not run. A
//     worker that answers after its Receive says so with Call.AnswerLater. Do waits for 10 to 11
//     seconds, if its context has no deadline.
//   - Process.Go runs blocking code in a goroutine that the incarnation owns and waits for. A panic
//     in that goroutine is a crash of the worker.
//   - Process.After, Post, PostWait, Monitor and CallAsync reach only the incarnation that called
//     them. Leftovers of an older incarnation are dropped.
//   - Process.SetCarriedState hands a value over to the next incarnation, which restores it with
//     Process.CarriedState. The value is dropped when three incarnations in a row panic within one
//     second. The last panic must be in the incarnation's own work, unless the intensity allows no
//     further restart. Fewer panics are enough when the intensity allows fewer than four restarts.
//
// Receive must not wait for something that it cannot cancel, because Go cannot end a goroutine from
// outside. A worker that does not stop when it is told to is abandoned: it leaves the tree,
// everything that waits for it fails, an Abandoned event is sent, and its further actions do not
// affect its successor.
//
// A worker that does not return from a message is stuck. After Child.SoftTimeout a Stuck event
// reports where it is. After Child.HardTimeout it is isolated and replaced, which everybody else
// sees as a crash with ErrStuck. Both times count only while the machine could have run the worker,
// and start again with each call of Process.Progress. A stuck worker has these effects:
//
//   - The message being handled fails at once, and so does every call that the worker took and did
//     not answer. The successor handles the messages that wait in the mailbox, in order.
//   - The carried state is dropped, because the stuck goroutine may still change it. A value that
//     implements Detachable can be kept. The Abandon(error) method of a dropped value is called
//     once the goroutine has returned.
//   - Calls on its Process have no effect: SetCarriedState, After, Post, Send, CallAsync, Monitor,
//     Link and Go. Two things are not covered. Ref.Send carries no sender, so it still sends;
//     values that are shared with others stay shared. Call Process.Check before such actions: it
//     ends the isolated goroutine there.
//   - An Init that hangs is reported after SoftTimeout; its start fails after StartTimeout. A
//     supervisor that hangs in a function it calls (the function that makes its spec, Fail,
//     Abandon) is abandoned with everything below it, and started again.
//   - The goroutine exists until it returns, and is counted until then (System.Isolated,
//     Node.Isolated). At most MaxIsolated (64) stuck goroutines are replaced in one failure domain
//     (Child.FailureDomain), so that one failure domain cannot use up the replacements of others. A
//     supervisor with that many below it starts no new child. A supervisor has at most MaxStarting
//     (64) requested starts under way at once.
//
// # Restarts
//
//	restart type    started again after
//	Permanent       every end
//	Transient       an abnormal end: not after Normal, ErrShutdown or ShutdownWith
//	Temporary       no end; its row is deleted
//
// Permanent and transient workers restart in place: they keep the process and the mailbox, and get
// a new Behaviour and the next incarnation number. Only the message that caused the crash fails;
// the new incarnation handles the messages behind it. A supervisor restarts as a new process over
// the same rows.
//
//	strategy          restarted with it
//	OneForOne         nothing
//	OneForAll         all siblings: stopped in reverse, started in order
//	RestForOne        the siblings started after it
//	SimpleOneForOne   nothing; the children are an unordered pool from one template
//
// A supervisor may make Intensity.Restarts restarts in any window of Intensity.Within. With one
// restart more, it stops its children in reverse and ends with a shutdown, so that its own
// supervisor decides. A permanent supervisor is then restarted and counted there; a transient one
// stays stopped. At the root, the tree itself ends (Tree.Done, Tree.Service).
//
// OTP has neither of the next two rules. A supervisor with a Backoff never gives up: it pauses a
// child that exceeds the intensity, for longer each time, and siblings are not affected. Such a
// supervisor also charges a crash on an Attributed message to the origin of the message; the crash
// does not count for the child. If an origin crashes the child repeatedly, the child refuses
// messages of that origin for a while: see OriginRefuseTime (1 s) and FirstOriginPause (10 s).
//
// # Start and stop
//
// Children start left to right. Each start waits until the previous child is ready: its Init has
// returned or, for a supervisor, its own children are ready. If one start fails, the children that
// did start are stopped in reverse, and the whole start fails with a StartError; a tree is never
// left half started. Children stop right to left, each within its Shutdown. The children of a pool
// stop all at once.
//
// # Services
//
// A loop that owns a resource and has no mailbox is a suture.Service. Its factory runs
// synchronously, so a socket that cannot be bound is a failed start. Serve runs in a goroutine; its
// context ends when the row is stopped.
//
//	Serve returns                           meaning
//	nil, suture.ErrDoNotRestart             Normal
//	suture.ErrTerminateSupervisorTree       ErrGiveUp: supervisor gives up, whatever its intensity
//	any other error                         an abnormal end
//	(a panic)                               a crash
//
// Suture itself supervises exactly one thing, the root: add Tree.Service or NewService to the
// outermost suture supervisor.
//
// # Observation
//
// System.Snapshot and Whereis read the rows and ask no actor. Options.Events is called with every
// event. A CrashReport holds program counters and types; it is formatted when somebody reads it,
// never during a restart.
//
// # Differences from OTP
//
// docs/otp-parity.gen.md lists some ninety cases from OTP's own test suite and rules. Each runs
// against this package; the list says why a few of them differ. The main differences: a process can
// be abandoned but not killed; a slow start under one_for_one does not delay siblings; entries of a
// pool have ids; restarts are in place; the intensity window is not counted in whole seconds.
//
// # Inside
//
// decide.go, plan.go, request.go and intensity.go only decide: state.Step(now, input) returns
// actions. supervisor.go and perform.go are the process that performs the actions. turn.go lets one
// goroutine continue with another process. guard.go stands between protoactor's mailbox and its
// actor context and repairs the life cycle of the latter; mailbox.go replaces protoactor's mailbox.
// Every panic and every Goexit of user code arrives in guard.EscalateFailure.
package otp
