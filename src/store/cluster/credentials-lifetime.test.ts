import { expect, test } from 'vitest'
import { credentialsLifetime } from './credentials-lifetime.ts'

const DAY_S = 86_400
const BEGIN_S = Date.UTC(2026, 0, 1) / 1000

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const token = (claims: unknown) => `${encode({ alg: 'RS256' })}.${encode(claims)}.c2lnbmF0dXJl`
test.each<{ name: string; authorization?: string; want?: object }>([
  {
    name: 'a token of an API server',
    authorization: `Bearer ${token({ iat: BEGIN_S, exp: BEGIN_S + 30 * DAY_S })}`,
    want: { beginsAt: BEGIN_S * 1000, endsAt: (BEGIN_S + 30 * DAY_S) * 1000 },
  },
  {
    name: 'a token that does not say when it began',
    authorization: `Bearer ${token({ exp: BEGIN_S })}`,
    want: { beginsAt: 0, endsAt: BEGIN_S * 1000 },
  },
  { name: 'a token of a Secret, which has no end', authorization: `Bearer ${token({ iss: 'kubernetes' })}` },
  { name: 'a token of another form', authorization: 'Bearer k8s-aws-v1.aHR0cHM6Ly9' },
  { name: 'a token with claims that are no object', authorization: `Bearer ${token([1])}` },
  { name: 'a token with an end that is no time', authorization: `Bearer ${token({ exp: 'soon' })}` },
  { name: 'a token with an end that no calendar has', authorization: `Bearer ${token({ exp: 1e300 })}` },
  { name: 'a password', authorization: 'Basic YTpi' },
  { name: 'no credentials' },
])('the lifetime of $name', ({ authorization, want }) => {
  expect(credentialsLifetime({ authorization })).toEqual(want)
})

test('a certificate that cannot be read has no lifetime', () => {
  expect(credentialsLifetime({ certificate: 'x' })).toBeUndefined()
})

test('credentials of a plugin have none, since the plugin renews them', () => {
  const authorization = `Bearer ${token({ iat: BEGIN_S, exp: BEGIN_S + 60 })}`
  expect(credentialsLifetime({ authorization, isRenewed: true })).toBeUndefined()
})
