import { expect, test } from 'vitest'
import { endpointHost, isEndpoint, isQuantity, parseBoolean, parseQuantity, parseSourceUrl } from './options.ts'

test.each([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => ({ text, want: true })),
  ...['0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => ({ text, want: false })),
  ...['', 'yes', 'tRUE', ' true', '2'].map((text) => ({ text, want: undefined })),
])('the boolean "$text" is $want, as in strconv.ParseBool', ({ text, want }) => {
  expect(parseBoolean(text)).toBe(want)
})

test.each([
  { url: 's3://lake/sales/', want: { bucket: 'lake', key: 'sales/' } },
  { url: 's3://lake', want: { bucket: 'lake', key: '' } },
  { url: 's3://lake/', want: { bucket: 'lake', key: '' } },
  { url: 'https://lake/a/b.csv', want: { bucket: 'lake', key: 'a/b.csv' } },
  { url: 'lake/sales', want: undefined },
  { url: 's3:///sales', want: undefined },
  { url: 's3://la ke/sales', want: undefined },
  { url: 's3://user@lake/sales', want: undefined },
  { url: 's3://lake/sales?x', want: undefined },
  { url: 's3://lake/sales#x', want: undefined },
])('the source $url is $want', ({ url, want }) => {
  expect(parseSourceUrl(url)).toEqual(want)
})

test.each([
  { url: 'http://s3:9000', want: 's3' },
  { url: 'https://s3.example.com/path', want: 's3.example.com' },
  { url: 'http://[::1]:9000', want: '[::1]' },
  { url: 'ftp://s3', want: undefined },
  { url: 'http://', want: undefined },
  { url: 'http://s3:123456', want: undefined },
  { url: 'http://user@s3', want: undefined },
  { url: 'http://s3/a?b', want: undefined },
])('the host of the endpoint $url is $want', ({ url, want }) => {
  expect(isEndpoint(url) ? endpointHost(url) : undefined).toBe(want)
})

test.each([
  ...['5Gi', '5', '0.5', '.5Ti', '5.', '+5M', '1e3', '1E-3', '500m'].map((text) => ({ text, want: true })),
  ...['', '-5Gi', '5GB', 'Gi', '5 Gi', '5Gi5', '.'].map((text) => ({ text, want: false })),
])('"$text" is a quantity: $want', ({ text, want }) => {
  expect(isQuantity(text)).toBe(want)
})

test.each([
  ['5Gi', 5 * 2 ** 30],
  ['5', 5],
  ['0.5k', 500],
  ['.5Ti', 2 ** 39],
  ['+5M', 5e6],
  ['1e3', 1000],
  ['1E-3', 1],
  ['2E', 2e18],
  ['500m', 1],
  ['', undefined],
  ['-5Gi', undefined],
  ['5GB', undefined],
])('the quantity "%s" is %s', (text, want) => {
  expect(parseQuantity(text)).toBe(want)
})
