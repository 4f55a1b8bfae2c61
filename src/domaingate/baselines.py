"""What a user would try in five minutes: the bar that every gated model is printed beside."""

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline


def bag_of_word_pairs() -> Pipeline:
    """Logistic regression over tf-idf of words and pairs of words: `fit(texts, labels)`, `predict(texts)`."""
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    return make_pipeline(words, LogisticRegression(C=10, max_iter=1000))
