import { expect, test } from 'vitest'
import { dataSourceClaims } from '../../../api/data-source-claim.ts'
import { TestClock } from '../../../base/time/clock.fake.ts'
import type { ApiConnection } from '../../../store/cluster/api-connection.ts'
import { ApiError } from '../../../store/cluster/api-error.ts'
import { reviewedUsers } from './reviewed-users.ts'
import { ReviewError } from './viewer.ts'

/** An API server that knows the tokens and rights of `users`, and the bodies that it got. */
function stage() {
  const clock = new TestClock()
  const bodies: { kind: string; spec: Record<string, unknown> }[] = []
  const state = {
    tokens: new Map([['good', { username: 'jane', groups: ['sales'], extra: { pod: ['a'] } }]]),
    allowed: true,
    fault: undefined as Error | undefined,
  }
  const request: ApiConnection['request'] = async (_method, _path, input) => {
    const body = input?.body as (typeof bodies)[number]
    bodies.push(body)
    if (state.fault) throw state.fault
    const user = state.tokens.get(String(body.spec['token']))
    return {
      status: body.kind === 'TokenReview' ? { authenticated: user !== undefined, user } : { allowed: state.allowed },
    }
  }
  const reports: string[] = []
  const users = reviewedUsers({ request } as ApiConnection, clock, (problem) => reports.push(problem))
  return { clock, bodies, state, users, reports }
}

test('a token names its user, with whose groups the API server is asked for rights', async () => {
  const { users, bodies } = stage()
  const viewer = await users.viewerOf('good')
  expect(viewer?.user).toBe('jane')
  expect(await viewer?.may('list', dataSourceClaims, { namespace: 'demo' })).toBe(true)
  expect(bodies[1]).toMatchObject({
    kind: 'SubjectAccessReview',
    spec: {
      user: 'jane',
      groups: ['sales'],
      extra: { pod: ['a'] },
      resourceAttributes: {
        verb: 'list',
        group: dataSourceClaims.group,
        resource: 'datasourceclaims',
        namespace: 'demo',
      },
    },
  })
})

test('a token that the API server does not accept has no reader', async () => {
  expect(await stage().users.viewerOf('bad')).toBeUndefined()
})

test('a revoked right or an ended token takes effect within 30 s', async () => {
  const { users, bodies, state, clock } = stage()
  const ask = async () => (await users.viewerOf('good'))?.may('list', dataSourceClaims)
  expect(await ask()).toBe(true)
  state.allowed = false
  expect(await ask()).toBe(true)
  expect(bodies).toHaveLength(2)
  clock.advance(30_000)
  expect(await ask()).toBe(false)
  state.tokens.clear()
  clock.advance(30_000)
  expect(await ask()).toBeUndefined()
})

test('requests at the same time ask once', async () => {
  const { users, bodies } = stage()
  await Promise.all(Array.from({ length: 10 }, () => users.viewerOf('good')))
  expect(bodies).toHaveLength(1)
})

test('an API server that does not answer is an error, which is not remembered', async () => {
  const { users, state, reports } = stage()
  state.fault = new ApiError({
    message: 'POST /apis: HTTP 500',
    status: 500,
    reason: 'InternalError',
    retryAfterMs: undefined,
  })
  const failed = users.viewerOf('good')
  await expect(failed).rejects.toThrow(ReviewError)
  await expect(failed).rejects.toThrow(/has the reason$/)
  expect(reports).toEqual([expect.stringContaining('HTTP 500')])
  state.fault = undefined
  expect((await users.viewerOf('good'))?.user).toBe('jane')
})
