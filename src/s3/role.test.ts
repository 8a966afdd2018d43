import { describe, expect, test } from 'vitest'
import { parseAgentKeys, parseAssumedRole, renewalTime, roleSourceOf } from './role.ts'

const WEB = { AWS_ROLE_ARN: 'arn:aws:iam::1:role/reader', AWS_WEB_IDENTITY_TOKEN_FILE: '/token' }
const AGENT = 'AWS_CONTAINER_CREDENTIALS_FULL_URI'

describe('the endpoint of STS is', () => {
  test.each([
    { name: 'global without a region', env: {}, want: 'https://sts.amazonaws.com' },
    { name: 'regional', env: { AWS_REGION: 'eu-west-1' }, want: 'https://sts.eu-west-1.amazonaws.com' },
    {
      name: 'regional by default',
      env: { AWS_DEFAULT_REGION: 'us-west-2' },
      want: 'https://sts.us-west-2.amazonaws.com',
    },
    {
      name: 'global on request',
      env: { AWS_REGION: 'eu-west-1', AWS_STS_REGIONAL_ENDPOINTS: 'legacy' },
      want: 'https://sts.amazonaws.com',
    },
    {
      name: 'of the European Sovereign Cloud',
      env: { AWS_REGION: 'eusc-de-east-1' },
      want: 'https://sts.eusc-de-east-1.amazonaws.eu',
    },
    { name: 'of China', env: { AWS_REGION: 'cn-north-1' }, want: 'https://sts.cn-north-1.amazonaws.com.cn' },
    { name: 'given', env: { AWS_ENDPOINT_URL_STS: 'https://minio.example.org/' }, want: 'https://minio.example.org' },
    { name: 'on the node', env: { AWS_ENDPOINT_URL_STS: 'http://127.0.0.1:9000' }, want: 'http://127.0.0.1:9000' },
  ])('$name: $want', ({ env, want }) => {
    expect(roleSourceOf({ ...WEB, ...env })).toMatchObject({ kind: 'webIdentity', endpoint: want })
  })
})

test.each([
  { env: { ...WEB, AWS_ENDPOINT_URL_STS: 'http://sts.example.org' } },
  { env: { ...WEB, AWS_ENDPOINT_URL_STS: 'sts.example.org' } },
  { env: { ...WEB, AWS_REGION: 'x/y z' } },
  { env: { ...WEB, AWS_REGION: 'evil.example.org#' } },
  { env: { [AGENT]: 'http://agent.example.org' } },
  { env: { [AGENT]: 'file:///etc/passwd' } },
])('a token is sent neither in clear text nor to a URL that is none: $env', ({ env }) => {
  expect(roleSourceOf(env)).toEqual({ fault: expect.stringContaining('must be') })
})

test.each([
  { env: {}, want: undefined },
  { env: { AWS_ROLE_ARN: WEB.AWS_ROLE_ARN }, want: undefined },
  { env: { ...WEB, [AGENT]: 'http://169.254.170.23/v1' }, want: 'webIdentity' },
  { env: { [AGENT]: 'http://169.254.170.23/v1' }, want: 'agent' },
  { env: { [AGENT]: 'http://[fd00:ec2::23]/v1' }, want: 'agent' },
])('the source of $env is $want', ({ env, want }) => {
  expect((roleSourceOf(env) as { kind?: string } | undefined)?.kind).toBe(want)
})

test('the name of a session has only characters that STS allows', () => {
  const nameOf = (env: object) => roleSourceOf({ ...WEB, ...env })
  expect(nameOf({ POD_NAME: `sales vol1/${'x'.repeat(99)}` })).toMatchObject({
    sessionName: `sales-vol1-${'x'.repeat(53)}`,
  })
  expect(nameOf({})).toMatchObject({ sessionName: 'lodestone' })
})

const EXPIRATION = '2026-01-01T01:00:00Z'
const JSON_KEYS = { AccessKeyId: 'a', SecretAccessKey: 'b', Token: 'c', Expiration: EXPIRATION }

test.each([
  { text: JSON.stringify(JSON_KEYS), parse: parseAgentKeys },
  {
    text: `<r><AccessKeyId>a</AccessKeyId><SecretAccessKey>b</SecretAccessKey><SessionToken>c</SessionToken><Expiration>${EXPIRATION}</Expiration></r>`,
    parse: parseAssumedRole,
  },
])('keys are read from $text', ({ text, parse }) => {
  const keys = { accessKeyId: 'a', secretAccessKey: 'b', sessionToken: 'c' }
  expect(parse(text)).toEqual({ keys, expiresAt: Date.parse(EXPIRATION) })
})

test.each([
  '',
  '[]',
  'no',
  JSON.stringify({ ...JSON_KEYS, Token: undefined }),
  JSON.stringify({ ...JSON_KEYS, SecretAccessKey: 1 }),
  JSON.stringify({ ...JSON_KEYS, Expiration: 'soon' }),
])('an answer without all of them has no keys: %s', (text) => {
  expect(parseAgentKeys(text)).toBeUndefined()
  expect(parseAssumedRole(text)).toBeUndefined()
})

test.each([
  { lifeMs: 3_600_000, want: 3_300_000 },
  { lifeMs: 60_000, want: 30_000 },
  { lifeMs: -1000, want: -1000 },
])('keys that live for $lifeMs ms are renewed after $want ms', ({ lifeMs, want }) => {
  expect(renewalTime({ expiresAt: 1_000_000 + lifeMs }, 1_000_000)).toBe(1_000_000 + want)
})
