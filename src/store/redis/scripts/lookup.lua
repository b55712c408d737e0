-- ARGV: fingerprint.
return judge(read(), ARGV[1])
