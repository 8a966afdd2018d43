/** Tests what the host and the responses of an S3 server show. */
import { expect, test } from 'vitest'
import { hasS3Headers, isS3Body, listsBuckets, providerOfHost, regionIn, s3ErrorCode } from './server.ts'

test.each([
  { host: 's3.amazonaws.com', want: 'aws' },
  { host: 's3.eu-west-1.amazonaws.com', want: 'aws' },
  { host: 's3.cn-north-1.amazonaws.com.cn', want: 'aws' },
  { host: 's3.dualstack.us-east-1.api.aws', want: 'aws' },
  { host: 's3.amazonaws.com.', want: 'aws' },
  { host: 'storage.googleapis.com', want: 'gcp' },
  { host: 'oss-cn-hangzhou.aliyuncs.com', want: 'aliyun' },
  { host: 'cos.ap-beijing.myqcloud.com', want: 'tencent' },
  { host: 'amazonaws.com.example.org', want: undefined },
  { host: 'notamazonaws.com', want: undefined },
  { host: 'minio.example.org', want: undefined },
  { host: '127.0.0.1', want: undefined },
])('the provider of $host is $want', ({ host, want }) => {
  expect(providerOfHost(host)).toBe(want)
})

test.each([
  { headers: { 'x-amz-bucket-region': 'eu-west-1' }, want: 'eu-west-1' },
  { headers: { 'x-oss-bucket-region': 'oss-cn-hangzhou' }, want: 'cn-hangzhou' },
  { headers: { 'x-cos-bucket-region': 'ap-beijing' }, want: 'ap-beijing' },
  { headers: { 'x-amz-bucket-region': 'a.evil.example' }, want: undefined },
  { headers: { 'x-amz-bucket-region': '' }, want: undefined },
  { headers: {}, want: undefined },
])('the region in $headers is $want', ({ headers, want }) => {
  expect(regionIn(headers)).toBe(want)
})

test.each([
  { header: 'x-amz-request-id', want: true },
  { header: 'x-amz-bucket-region', want: true },
  { header: 'x-guploader-uploadid', want: true },
  { header: 'x-oss-request-id', want: true },
  { header: 'x-cos-request-id', want: true },
  { header: 'x-amz-cf-id', want: false },
  { header: 'x-amzn-requestid', want: false },
  { header: 'x-amz-apigw-id', want: false },
  { header: 'server', want: false },
])('the header $header is one of S3: $want', ({ header, want }) => {
  expect(hasS3Headers({ [header]: 'x' })).toBe(want)
})

test.each([
  { body: '<?xml version="1.0"?>\n<Error><Code>NoSuchBucket</Code></Error>', isS3: true, code: 'NoSuchBucket' },
  { body: '<Error><Message>no</Message></Error>', isS3: true, code: undefined },
  { body: '<Error><Code>a b</Code></Error>', isS3: true, code: undefined },
  { body: '<LocationConstraint xmlns="x"/>', isS3: true, code: undefined },
  { body: '<LocationConstraint>EU</LocationConstraint>', isS3: true, code: undefined },
  { body: '<ListAllMyBucketsResult/>', isS3: true, code: undefined },
  { body: '<html><Error><Code>NoSuchBucket</Code></Error></html>', isS3: false, code: undefined },
  { body: '<ErrorPage>NoSuchBucket</ErrorPage>', isS3: false, code: undefined },
  { body: '{"Code":"NoSuchBucket"}', isS3: false, code: undefined },
  { body: '', isS3: false, code: undefined },
])('the body $body is one of S3: $isS3, with the code $code', ({ body, isS3, code }) => {
  expect([isS3Body(body), s3ErrorCode(body)]).toEqual([isS3, code])
})

test.each([
  { body: '<?xml version="1.0"?>\n<ListAllMyBucketsResult xmlns="x"><Buckets/></ListAllMyBucketsResult>', want: true },
  { body: '<ListAllMyBucketsResult/>', want: true },
  { body: '<ListAllMyBucketsResults/>', want: false },
  { body: '<html><ListAllMyBucketsResult/></html>', want: false },
])('the body $body lists buckets: $want', ({ body, want }) => {
  expect(listsBuckets(body)).toBe(want)
})
