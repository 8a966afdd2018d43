/** Where errors end: a `catch` names the error that it handles, throws it on, or is one of the catch-alls below. */
import { globSync, readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'

/** The files that handle an error of any kind. docs/dev/architecture.md explains the first group. */
const CATCH_ALLS: Readonly<Record<string, readonly string[]>> = {
  'answers or retries, and reports': [
    'src/server/call.ts',
    'src/server/request-queue.ts',
    'src/reconcile/queue.ts',
    'src/reconcile/loop.ts',
    'src/mover/run.ts',
    'src/main.ts',
  ],
  'reports, so that the work in the background goes on': [
    'src/app/leader.ts',
    'src/app/registration-loop.ts',
    'src/app/loops.ts',
    'src/cli/conversations/read-tests.ts',
    'src/locality/config/config-reader.ts',
    'src/mover/events.ts',
    'src/page/use-list.ts',
    'src/reconcile/event-recorder.ts',
    'src/reconcile/controller.ts',
    'src/reconcile/volumes/mover-logs.ts',
    'src/server/health.ts',
    'src/store/cache/cached-store.ts',
    'src/store/cluster/watch/cache-writer.ts',
    'src/store/cluster/watch/reflector.ts',
    'src/store/cluster/watch/watcher.ts',
    'src/store/folder/files.ts',
    'src/store/folder/folder.ts',
    'src/store/folder/manifests.ts',
    'src/store/folder/scan.ts',
    'src/base/folder-watch.ts',
    'src/telemetry/line-queue.ts',
    'src/tls/files.ts',
    'src/tls/rotation.ts',
    'src/tls/source.ts',
  ],
  'keeps the error, and throws it when its caller waits': [
    'src/mover/download/background-flush.ts',
    'src/mover/download/line-log.ts',
    'src/mover/pool.ts',
    'src/mover/http/backoff.ts',
    'src/mover/objects/fetch-range.ts',
  ],
}

/** An expression that names an error: its class, its code, its status, or a function that tells it apart. */
const NAMES_AN_ERROR = /instanceof |\bcode\b|\.status\b|\bis[A-Z]\w*\(error|throw\b|throwIfAborted/
/** A call with one expected failure: text that cannot be parsed. */
const PARSES = /JSON\.parse\(/

/** Whether a file has a handler for errors of any kind. Handlers without a parameter are for the expected failure of one call. */
function catchesAll(path: string): boolean {
  const text = readFileSync(path, 'utf8')
  // Most files have none, and to parse all of them takes two seconds.
  if (!text.includes('catch')) return false
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  let found = false
  const visit = (node: ts.Node): void => {
    if (ts.isCatchClause(node) && node.variableDeclaration) {
      found ||= !NAMES_AN_ERROR.test(node.block.getText()) && !PARSES.test(node.parent.tryBlock.getText())
    }
    if (isCatchCall(node)) {
      const [handler] = node.arguments
      const takesError = handler !== undefined && ts.isArrowFunction(handler) && handler.parameters.length > 0
      found ||= takesError && !NAMES_AN_ERROR.test(handler.getText())
    }
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

function isCatchCall(node: ts.Node): node is ts.CallExpression {
  return (
    ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression) && node.expression.name.text === 'catch'
  )
}

const sources = globSync('src/**/*.ts').filter((path) => !/\.(test|suite|fake)\.ts$/.test(path))
const listed = Object.values(CATCH_ALLS).flat()

test('a catch outside of the catch-alls names the error that it handles', () => {
  expect(sources.filter((path) => catchesAll(path) && !listed.includes(path))).toEqual([])
})

test('every catch-all is a file', () => {
  expect(listed.filter((path) => !sources.includes(path))).toEqual([])
})

test('an error is known by its class or code, never by the name of its class', () => {
  const byName = sources.filter((path) => /\b(error|cause)\.name\b/.test(readFileSync(path, 'utf8')))
  expect(byName).toEqual([])
})
