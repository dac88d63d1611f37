# Sinatra in the manner of tutorials that verify the raw body.
require "json"
require "net/http"
require "openssl"
require "sinatra"

set :port, ENV.fetch("PORT")
set :bind, "127.0.0.1"

def handle(body)
  Net::HTTP.post(URI(ENV.fetch("HANDLER_URL")), body).value
end

post "/webhooks" do
  request.body.rewind
  body = request.body.read
  expected = "sha256=" + OpenSSL::HMAC.hexdigest("sha256", ENV.fetch("WEBHOOK_SECRET"), body)
  halt 401 unless Rack::Utils.secure_compare(expected, request.env["HTTP_X_SVC_SIGNATURE"].to_s)
  event = JSON.parse(body)
  handle(body) if event["type"] == "email.sent"
  200
end
