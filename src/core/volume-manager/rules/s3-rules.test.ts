import { expect, test } from 'vitest'
import { makeVolume } from '../../../../test/builders.ts'
import { S3_REQUESTS } from './s3-rules.ts'
import { DEFAULT_VOLUME_LIMITS } from './settings.ts'

const problemsOf = (options: Record<string, string>) =>
  S3_REQUESTS.flatMap((rule) => rule(makeVolume({ options }), DEFAULT_VOLUME_LIMITS) ?? []).map(
    ({ message }) => message,
  )

const ADDRESS = 'http://10.0.0.1:9000'
const NO_HOST = 'the endpoint 10.0.0.1 is an IP address, which cannot have the bucket in its host name'

test.each<{ options: Record<string, string>; want: string[] }>([
  { options: { pathStyle: 'true', requesterPays: 'F', requestHeaders: '{"x-tenant": "sales"}' }, want: [] },
  { options: { pathStyle: '', requesterPays: '', requestHeaders: '' }, want: [] },
  { options: { pathStyle: 'virtual' }, want: ['pathStyle has to be true or false.'] },
  { options: { requesterPays: 'yes' }, want: ['requesterPays has to be true or false.'] },
  {
    options: { requestHeaders: 'x-tenant: sales' },
    want: ['requestHeaders has to be a JSON object like {"x-tenant": "sales"}: it is not a JSON object of texts.'],
  },
  {
    options: { requestHeaders: '{"authorization": "x"}' },
    want: ['requestHeaders has to be a JSON object like {"x-tenant": "sales"}: authorization is set by the mover.'],
  },
  {
    options: { pathStyle: 'false', sourceURL: 's3://lake/', endpointURL: ADDRESS },
    want: [`pathStyle cannot be false: ${NO_HOST}.`],
  },
  { options: { pathStyle: 'false', s3GatewayURL: ADDRESS }, want: [`pathStyle cannot be false: ${NO_HOST}.`] },
  { options: { pathStyle: 'true', sourceURL: 's3://lake/', endpointURL: ADDRESS }, want: [] },
  { options: { pathStyle: 'false', sourceURL: 's3://lake/', endpointURL: 'https://minio.example.org' }, want: [] },
])('the options $options have the problems $want', ({ options, want }) => {
  expect(problemsOf(options)).toEqual(want)
})
